package speak

import (
	"context"
	"flag"
	"net/http"
)

// What a client has for an agent that demands a token or a key.
var secrets struct{ token, expired, key string }

func secretFlags() {
	flag.StringVar(&secrets.token, "token", "", "a token that is right")
	flag.StringVar(&secrets.expired, "expired", "", "a token that has expired")
	flag.StringVar(&secrets.key, "key", "", "an API key that is right")
}

// Calls are those of a client of the agent that demands credentials. They fail the case unless all come in, or all are refused.
type Calls[P any] struct {
	// With makes the calls of a context carry a header, or a gRPC metadata key.
	With      func(ctx context.Context, name, value string) context.Context
	Works     func(context.Context, P)
	IsRefused func(context.Context, P)
}

// CredentialCases give each credential to an agent that demands one.
func CredentialCases[P any](calls Calls[P]) []Case[P] {
	with := func(run func(context.Context, P), name, before string, value *string) func(context.Context, P) {
		return func(ctx context.Context, p P) { run(calls.With(ctx, name, before+*value), p) }
	}
	old := "an-old-key"
	return []Case[P]{
		{"credentials-token", with(calls.Works, "authorization", "Bearer ", &secrets.token)},
		{"credentials-key", with(calls.Works, "x-api-key", "", &secrets.key)},
		{"error-credentials-none", calls.IsRefused},
		{"error-credentials-expired", with(calls.IsRefused, "authorization", "Bearer ", &secrets.expired)},
		{"error-credentials-key", with(calls.IsRefused, "x-api-key", "", &old)},
	}
}

// A Guard demands a token or a key of each caller. Without them it demands nothing.
type Guard struct{ token, key string }

// IsOpen says whether it demands nothing.
func (g Guard) IsOpen() bool {
	return g.token == ""
}

// Knows says whether a caller with these comes in.
func (g Guard) Knows(authorization, key string) bool {
	return g.IsOpen() || authorization == "Bearer "+g.token || key == g.key
}

// OverHTTP guards all but the card, which is at `open`.
func (g Guard) OverHTTP(next http.Handler, open string) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == open || g.Knows(request.Header.Get("Authorization"), request.Header.Get("X-Api-Key")) {
			next.ServeHTTP(response, request)
			return
		}
		response.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(response, "unauthenticated", http.StatusUnauthorized)
	})
}
