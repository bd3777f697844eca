"""Every exception class that can come out of a call, by name, and what it means here.

By name, so that nothing foreign is imported; a test walks the libraries and fails on a class that
is missing. A class that is not listed counts as the nearest listed one it derives from.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from matrix.model.errors import (
    AuthenticationFailed,
    ContentRefused,
    ContextOverflow,
    MalformedAnswer,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
)

Kind: TypeAlias = type[ProviderError] | Literal["unsent"]
"""``unsent`` marks failures to connect, also through a proxy: nothing was sent."""

_LITELLM: Final[dict[Kind, str]] = {
    RateLimited: "RateLimitError",
    ProviderTimeout: "Timeout",
    ProviderUnavailable: (
        "APIError APIConnectionError InternalServerError ServiceUnavailableError BadGatewayError "
        "OpenAIError MockException MidStreamFallbackError"
    ),
    MalformedAnswer: "APIResponseValidationError JSONSchemaValidationError",
    ContentRefused: (
        "ContentPolicyViolationError RejectedRequestError GuardrailRaisedException "
        "BlockedPiiEntityError ModifyResponseException SensitiveDataRouteException"
    ),
    ContextOverflow: "ContextWindowExceededError",
    AuthenticationFailed: "AuthenticationError PermissionDeniedError PaymentRequiredError",
    RequestRejected: (
        "BadRequestError NotFoundError UnprocessableEntityError UnsupportedParamsError "
        "InvalidRequestError ImageFetchError VectorStoreSearchError ModelNotMappedError "
        "LiteLLMUnknownProvider BudgetExceededError"
    ),
}
_OPENAI: Final[dict[Kind, str]] = {
    RateLimited: "RateLimitError",
    ProviderTimeout: "APITimeoutError",
    ProviderUnavailable: (
        "OpenAIError APIError APIStatusError APIConnectionError InternalServerError ConflictError "
        "WebSocketConnectionClosedError WebSocketQueueFullError"
    ),
    MalformedAnswer: "APIResponseValidationError LengthFinishReasonError",
    ContentRefused: "ContentFilterFinishReasonError",
    AuthenticationFailed: (
        "AuthenticationError PermissionDeniedError OAuthError _exceptions.SubjectTokenProviderError"
    ),
    RequestRejected: (
        "BadRequestError NotFoundError UnprocessableEntityError InvalidWebhookSignatureError "
        "_AmbiguousModuleClientUsageError"
    ),
}
_HTTPX: Final[dict[Kind, str]] = {
    "unsent": "ConnectError ConnectTimeout PoolTimeout",
    ProviderTimeout: "TimeoutException ReadTimeout WriteTimeout",
    ProviderUnavailable: (
        "HTTPError RequestError TransportError NetworkError ReadError WriteError CloseError "
        "ProxyError ProtocolError LocalProtocolError RemoteProtocolError HTTPStatusError "
        "StreamError StreamConsumed StreamClosed ResponseNotRead RequestNotRead"
    ),
    MalformedAnswer: "DecodingError",
    RequestRejected: "InvalidURL UnsupportedProtocol TooManyRedirects CookieConflict",
}
_AIOHTTP: Final[dict[Kind, str]] = {
    "unsent": (
        "ClientConnectorError ClientConnectorDNSError ClientConnectorSSLError "
        "ClientConnectorCertificateError ClientProxyConnectionError UnixClientConnectorError "
        "ConnectionTimeoutError ClientHttpProxyError"
    ),
    ProviderTimeout: "ServerTimeoutError SocketTimeoutError",
    ProviderUnavailable: (
        "ClientError ClientConnectionError ClientConnectionResetError ClientOSError ClientSSLError "
        "ClientResponseError ClientPayloadError ServerConnectionError "
        "ServerDisconnectedError ServerFingerprintMismatch UploadAbortedError"
    ),
    MalformedAnswer: "ContentTypeError WSMessageTypeError WSServerHandshakeError",
    RequestRejected: (
        "InvalidURL InvalidUrlClientError InvalidUrlRedirectClientError NonHttpUrlClientError "
        "NonHttpUrlRedirectClientError RedirectClientError TooManyRedirects"
    ),
}
_AIOHTTP_PARSER: Final[dict[Kind, str]] = {
    MalformedAnswer: (
        "HttpProcessingError BadHttpMessage HttpBadRequest PayloadEncodingError "
        "ContentEncodingError TransferEncodingError ContentLengthError DecompressSizeError "
        "LineTooLong InvalidHeader BadStatusLine BadHttpMethod InvalidURLError"
    ),
}
_BUILTINS: Final[dict[Kind, str]] = {
    "unsent": "ConnectionRefusedError",
    ProviderTimeout: "TimeoutError",
    ProviderUnavailable: "OSError",
    MalformedAnswer: "UnicodeDecodeError",
}

_TABLE: Final[dict[str, Kind]] = {
    f"{module}.{name}": kind
    for module, kinds in (
        ("litellm.exceptions", _LITELLM),
        ("openai", _OPENAI),
        ("httpx", _HTTPX),
        ("aiohttp.client_exceptions", _AIOHTTP),
        ("aiohttp.http_exceptions", _AIOHTTP_PARSER),
        ("builtins", _BUILTINS),
        ("json.decoder", {MalformedAnswer: "JSONDecodeError"}),
    )
    for kind, names in kinds.items()
    for name in names.split()
}


def listed() -> frozenset[str]:
    """Full names of every class in the table."""
    return frozenset(_TABLE)


def kind_of(error: BaseException) -> Kind | None:
    """What an exception means by its class alone, or ``None`` if nothing is known of it."""
    for cls in type(error).__mro__:
        if (kind := _TABLE.get(f"{cls.__module__}.{cls.__qualname__}")) is not None:
            return kind
    return None
