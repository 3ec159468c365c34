//go:build older

package main

import "github.com/a2aproject/a2a-go/v2/a2asrv/push"

// sender calls every webhook: these releases do not look where one is.
func sender() push.Sender {
	return push.NewHTTPPushSender(nil)
}
