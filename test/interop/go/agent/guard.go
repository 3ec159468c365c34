package main

import (
	"context"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A guard demands a token or a key of each caller. Without them it demands nothing.
type guard struct {
	token, key string
}

func (g guard) isOpen() bool {
	return g.token == ""
}

func (g guard) knows(authorization, key string) bool {
	return g.isOpen() || authorization == "Bearer "+g.token || key == g.key
}

func (g guard) declare(card *a2a.AgentCard) {
	if g.isOpen() {
		return
	}
	card.SecuritySchemes = a2a.NamedSecuritySchemes{
		"token": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"},
		"key":   a2a.APIKeySecurityScheme{Location: "header", Name: "X-Api-Key"},
	}
	card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"token": {"read"}}, {"key": {}}}
	card.Skills[0].SecurityRequirements = a2a.SecurityRequirementsOptions{{"token": {"play"}}}
	card.Capabilities.ExtendedAgentCard = true
}

func (g guard) overHTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if g.knows(request.Header.Get("Authorization"), request.Header.Get("X-Api-Key")) {
			next.ServeHTTP(response, request)
			return
		}
		response.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(response, "unauthenticated", http.StatusUnauthorized)
	})
}

func (g guard) check(ctx context.Context) error {
	given, _ := metadata.FromIncomingContext(ctx)
	if g.knows(first(given.Get("authorization")), first(given.Get("x-api-key"))) {
		return nil
	}
	return status.Error(codes.Unauthenticated, "unauthenticated")
}

func (g guard) overGRPC() []grpc.ServerOption {
	unary := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if err := g.check(ctx); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
	stream := func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if err := g.check(stream.Context()); err != nil {
			return err
		}
		return next(service, stream)
	}
	return []grpc.ServerOption{grpc.UnaryInterceptor(unary), grpc.StreamInterceptor(stream)}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
