"""The variables of a launch go in; those that only its command line is made of come out, which the server itself needs no more."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.adopt.choice import Chosen
from compiler.adopt.launch import Change, Launch, Word
from compiler.engines.adopting import ChangeKind
from compiler.secrecy import is_secret, may_be_secret


# First words of the names that servers and their libraries read, of their documentation; a name with none of them is
# somebody's own.
_READ = frozenset(
    {
        *(
            "SGLANG",
            "SGL",
            "FLASHINFER",
            "DG",
            "TRITON",
            "VLLM",
            "MOONCAKE",
            "MC",
            "NIXL",
            "RAY",
            "OUTLINES",
            "XGRAMMAR",
        ),
        *(
            "TORCH",
            "TORCHINDUCTOR",
            "PYTORCH",
            "TRANSFORMERS",
            "TOKENIZERS",
            "HF",
            "HUGGING",
            "HUGGINGFACE",
            "MODELSCOPE",
        ),
        *(
            "CUDA",
            "CUDNN",
            "CUBLAS",
            "NVIDIA",
            "NCCL",
            "NVSHMEM",
            "NVTE",
            "UCX",
            "GLOO",
            "IB",
            "FI",
            "HIP",
            "HSA",
            "ROCR",
        ),
        *(
            "RCCL",
            "AITER",
            "AMD",
            "GPU",
            "ASCEND",
            "HCCL",
            "OMP",
            "MKL",
            "KMP",
            "OPENBLAS",
            "MALLOC",
            "LD",
            "PYTHON",
        ),
        *(
            "PYTHONPATH",
            "PYTHONUNBUFFERED",
            "PATH",
            "HOME",
            "USER",
            "TMPDIR",
            "TMP",
            "TEMP",
            "XDG",
            "LANG",
            "LC",
            "TZ",
        ),
        *(
            "HTTP",
            "HTTPS",
            "NO",
            "ALL",
            "SSL",
            "CURL",
            "REQUESTS",
            "AWS",
            "S3",
            "OPENAI",
            "OTEL",
            "PROMETHEUS",
            "MASTER",
        ),
        *("RANK", "WORLD", "LOCAL", "NODE", "SLURM", "KUBERNETES", "POD", "VIRTUAL", "CONDA"),
    }
)


def spent_variables(launch: Launch) -> tuple[str, ...]:
    """The names of those that the server is sure not to read."""
    behind = launch.command.words[launch.found.arguments :]
    names = dict.fromkeys(name for word in behind for name in word.names)
    return tuple(
        name
        for name in names
        if name in launch.command.environment and name.upper().partition("_")[0] not in _READ
    )


def told_spent(launch: Launch, spent: tuple[str, ...]) -> Iterator[Change]:
    """A word about those that are left out."""
    if spent:
        first = launch.command.environment[spent[0]]
        shown = ", ".join(f"`{each}`" for each in spent)
        text = f"only the command line is made of these, so that they are not in `[env]`: {shown}"
        yield Change(kind=ChangeKind.DROPPED, text=text, span=first.span)


def secret_variables(launch: Launch, chosen: Chosen) -> frozenset[str]:
    """The names of those that hold secrets: by their own names or forms, since a flag makes one of them, or since they hold another."""
    words, environment = launch.command.words, launch.command.environment
    own = {name for name, word in environment.items() if is_secret(name, word.text)}
    own |= {
        name
        for places in chosen.reading.secrets.values()
        for at in places
        for name in words[at].names
    }
    texts = {
        *secret_texts(launch, chosen),
        *(environment[name].text for name in own & {*environment}),
    }
    texts = set(filter(may_be_secret, texts))
    held = {
        name
        for name, word in environment.items()
        if not own.isdisjoint(word.names) or any(text in word.text for text in texts)
    }
    return frozenset(own | held)


def secret_texts(launch: Launch, chosen: Chosen) -> frozenset[str]:
    """The values of flags that are secrets."""
    words = launch.command.words
    several = (words[at].text for places in chosen.reading.secrets.values() for at in places)
    return frozenset(text.partition("=")[2] if text.startswith("--") else text for text in several)


def secret_goes(name: str, word: Word, *, is_replaced: bool) -> str:
    """Where a secret variable is to be set on the host; `is_replaced` when only a secret flag is made of it."""
    if is_replaced:
        return "only the command line is made of it, and the file of `[secrets]` takes its place"
    if word.kept is None or not word.kept.path:
        return "set it on the host, in a drop-in that is not committed"
    path = word.kept.path
    if word.kept.name not in {"", name}:
        return f"`{path}` has it as `{word.kept.name}`: set `{name}` on the host, in a file that only the service's user reads, and name that in a drop-in"
    if not path.startswith("/"):
        return (
            f"`{path}` stays as it is on the host; name it in a drop-in there, by its absolute path"
        )
    return (
        f"`{path}` stays as it is on the host; name it in a drop-in there: `EnvironmentFile={path}`"
    )
