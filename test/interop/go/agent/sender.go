//go:build !older

package main

import "github.com/a2aproject/a2a-go/v2/a2asrv/push"

// sender calls the webhooks of the tests too, which are on this machine.
func sender() push.Sender {
	return push.NewHTTPPushSender(&push.HTTPSenderConfig{AllowPrivateNetworks: true})
}
