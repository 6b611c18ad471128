"""Why a request is not taken."""

from orchestra_lib.errors import BadInput


class Refusal(BadInput):
    """A request that cannot be served as it is. `param` names the field and `code` the kind, in OpenAI's words."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.param, self.code, self.status = param, code, status
