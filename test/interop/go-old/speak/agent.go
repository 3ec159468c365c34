package speak

import (
	"encoding/json"
	"flag"
	"io"
	"net"
	"os"
)

// Serve prints one line of JSON that says where the card is, and returns with the end of the standard input. What serves
// the agent is started by `start`, which is told the base of the URLs, and what `--token` and `--key` demand.
func Serve(start func(web net.Listener, base string, guard Guard) error) {
	var guard Guard
	flag.StringVar(&guard.token, "token", "", "a token that lets callers in")
	flag.StringVar(&guard.key, "key", "", "an API key that lets callers in")
	flag.Parse()
	out := quiet()
	web := Listen()
	base := "http://" + web.Addr().String()
	if err := start(web, base, guard); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(out).Encode(map[string]string{"card": base}); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Listen takes a free port of this machine.
func Listen() net.Listener {
	return Must(net.Listen("tcp", "127.0.0.1:0"))
}
