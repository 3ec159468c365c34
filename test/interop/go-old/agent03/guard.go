package main

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"trivium.example/interop/old/speak"
)

func declare(guard speak.Guard, card *a2a.AgentCard) {
	if guard.IsOpen() {
		return
	}
	card.SecuritySchemes = a2a.NamedSecuritySchemes{
		"token": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"},
		"key":   a2a.APIKeySecurityScheme{In: a2a.APIKeySecuritySchemeInHeader, Name: "X-Api-Key"},
	}
	card.Security = []a2a.SecurityRequirements{{"token": {}}, {"key": {}}}
}

func overGRPC(guard speak.Guard) []grpc.ServerOption {
	check := func(ctx context.Context) error {
		given, _ := metadata.FromIncomingContext(ctx)
		of := func(name string) string { return strings.Join(given.Get(name), "") }
		if guard.Knows(of("authorization"), of("x-api-key")) {
			return nil
		}
		return status.Error(codes.Unauthenticated, "unauthenticated")
	}
	unary := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if err := check(ctx); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
	stream := func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if err := check(stream.Context()); err != nil {
			return err
		}
		return next(service, stream)
	}
	return []grpc.ServerOption{grpc.UnaryInterceptor(unary), grpc.StreamInterceptor(stream)}
}
