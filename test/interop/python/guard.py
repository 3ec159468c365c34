"""What an agent does that demands a token or a key: middleware for HTTP, an interceptor for gRPC, members of the card."""

import grpc
from starlette.responses import JSONResponse

SECURITY = {
    'securitySchemes': {
        'token': {'httpAuthSecurityScheme': {'scheme': 'Bearer'}},
        'key': {'apiKeySecurityScheme': {'location': 'header', 'name': 'X-Api-Key'}},
    },
    'securityRequirements': [{'schemes': {'token': {'list': ['read']}}}, {'schemes': {'key': {}}}],
}

# The same as cards of 0.3 and 0.2 say it.
SECURITY_BEFORE = {
    'securitySchemes': {
        'token': {'type': 'http', 'scheme': 'Bearer'},
        'key': {'type': 'apiKey', 'in': 'header', 'name': 'X-Api-Key'},
    },
    'security': [{'token': []}, {'key': []}],
}


class OverHttp:
    """Refuses all but the card to callers without credentials."""

    def __init__(self, app, token, key):
        self.app = app
        self.token = token
        self.key = key

    async def __call__(self, scope, receive, send):
        headers = {name.decode(): value.decode() for name, value in scope.get('headers', [])}
        known = headers.get('authorization') == f'Bearer {self.token}' or headers.get('x-api-key') == self.key
        if known or scope['path'].startswith('/.well-known/'):
            await self.app(scope, receive, send)
            return
        refusal = JSONResponse({'error': 'unauthenticated'}, 401, {'WWW-Authenticate': 'Bearer'})
        await refusal(scope, receive, send)


class OverGrpc(grpc.aio.ServerInterceptor):
    def __init__(self, token, key):
        self.token = token
        self.key = key

    async def intercept_service(self, continuation, handler_call_details):
        given = dict(handler_call_details.invocation_metadata)
        handler = await continuation(handler_call_details)
        if given.get('authorization') == f'Bearer {self.token}' or given.get('x-api-key') == self.key:
            return handler

        async def refuse(_, context):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, 'unauthenticated')

        make = grpc.unary_stream_rpc_method_handler if handler.response_streaming else grpc.unary_unary_rpc_method_handler
        return make(refuse)
