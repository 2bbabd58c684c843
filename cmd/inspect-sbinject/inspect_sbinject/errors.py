# SPDX-License-Identifier: MIT
"""What can go wrong: an exception for each exit status of sbinject."""


class SbinjectError(RuntimeError):
    """A run of sbinject failed; the classes below say how, by its documented exit status."""

    def __init__(self, message: str, container: str | None = None, exit: int | None = None):
        super().__init__(message)
        self.container = container
        self.exit = exit


class UsageError(SbinjectError):
    """2: an argument or the rules file is wrong."""


class EngineUnreachable(SbinjectError):
    """3: the engine cannot be reached, died, or did not answer in time."""


class NoContainer(SbinjectError):
    """4: there is no such container, or it does not run."""


class Unsupported(SbinjectError):
    """5: no rule matches, or the container cannot take the payload."""


class Mismatch(SbinjectError):
    """6: a digest or version is not the expected one."""


class NoService(SbinjectError):
    """7: the service did not come up, or is not there."""


class Several(SbinjectError):
    """8: some of several containers failed, or not all for one reason."""


class Interrupted(SbinjectError):
    """130: ended by a signal; what was begun has been undone."""


class ProtocolError(SbinjectError):
    """What ran did not keep to the contract: is it sbinject?"""


class ChannelBroken(SbinjectError):
    """The channel into a container ended while a request was under way."""


class ContainerEnded(NoContainer):
    """The container ended while the channel into it was open: what was under way may have run."""


class NotStarted(SbinjectError):
    """A command was not started, because it would not run just as the engine runs it."""


FAILURES: dict[int, tuple[str, type[SbinjectError]]] = {
    1: ("failed", SbinjectError),
    2: ("usage", UsageError),
    3: ("no-engine", EngineUnreachable),
    4: ("no-container", NoContainer),
    5: ("unsupported", Unsupported),
    6: ("mismatch", Mismatch),
    7: ("no-service", NoService),
    8: ("some-failed", Several),
    130: ("interrupted", Interrupted),
}
"""By exit status: the word in the field 'code', and the exception."""
