"""A raw launch command in, a verdict out: no profile needed.

words -> Asked -> Profile -> Facts -> Plan -> [Diagnostic] -> Judged
read     defaults   look up  size    check
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import evolve, field, frozen

from compiler.accept import verdict
from compiler.bounds import beyond_bounds, senseless
from compiler.catalog import Catalog
from compiler.catalog.naming import Names, model_names
from compiler.catalog.unknowns import beside_catalogue
from compiler.checks import check
from compiler.checks.outside import ABOUT_DEPLOYMENT, ABOUT_PROFILES
from compiler.checks.unknown import READ_FLAGS, placeless
from compiler.diagnostics import Diagnostic, error
from compiler.engines.engine import (
    Asked,
    CommandReader,
    Engine,
    Facts,
    Measured,
    ReadFile,
    Spelled,
)
from compiler.engines.known import ENGINES
from compiler.engines.logged import impossible
from compiler.facts import Boot, Gpu, Model, Release
from compiler.judged import Judged, unjudged
from compiler.memory.cards import CUSTOM, MIB, custom, other_sizes, resized
from compiler.memory.weights import Split
from compiler.origins import NOWHERE
from compiler.plan import Plan, Variable
from compiler.planner import known_boots, plan_of
from compiler.profile import Gpus, Profile, Text
from compiler.ranges import Range, said
from compiler.value import Value


OUTSIDE = ABOUT_PROFILES | ABOUT_DEPLOYMENT
"""Left out, all of them: a prediction says whether a command starts and holds its context, and is asked of many commands
that nobody deploys. A key in plain sight would refuse what starts. `adopt --check` judges the deployment of one."""


@frozen(kw_only=True, eq=False, repr=False)
class Question(Value):
    """What is known beside the command.

    Attributes:
        count: all GPUs of the server, over all its nodes.
        gpu_memory_gib: total memory of one, when it is not what the catalogue says.
        model: as its own config describes it; else it is looked for by the command's name or path.
        weights: what its own files take on one GPU, GiB.
        boots: recorded boots beside those of the catalogue.
        public: whether the catalogue's public boots count too.
        assumed: what is taken for granted because nobody says it; it stands beside the verdict.
        concurrency, context: the promise: such requests at once, of so many tokens; of the server's context where that is `None`.
    """

    gpu: str
    count: int
    engine: str
    version: str
    gpu_memory_gib: float | None = None
    model: Model | None = None
    weights: Callable[[Split], Range] | None = None
    measured: Measured = field(factory=Measured)
    boots: tuple[Boot, ...] = ()
    public: bool = True
    assumed: tuple[str, ...] = ()
    concurrency: int = 1
    context: int | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Predictor(Value):
    """Predicts for one release; made once, it answers thousands of commands a second."""

    catalog: Catalog
    engine: Engine | None
    release: Release | None
    reader: CommandReader | None
    names: Names

    def predict(self, words: Sequence[str], question: Question) -> Judged:
        """Judge one command. Errors: `command-refused`, `bad-value`; what nobody described gives the verdict `unknown`."""
        if self.engine is None or self.reader is None or self.release is None:
            return unjudged(self._unread(question))
        asked = self.reader.read(
            words, gpus=Gpus(kind=Text(question.gpu), count=question.count), identify=self.identify
        )
        if asked.profile is None:
            return unjudged(
                error(
                    "command-refused",
                    f"{question.engine} {question.version} does not start with this command",
                    notes=(asked.refusal or "",),
                )
            )
        serve = evolve(asked.profile.serve, concurrency=question.concurrency)
        profile = evolve(asked.profile, serve=serve)
        wrong = tuple(senseless(profile))
        if wrong:
            return unjudged(*wrong)
        facts = self._facts(profile, question)
        profile = self._completed(asked, profile, facts)
        belied = (*impossible(question.measured, facts.gpu), *_too_long(question, profile))
        if belied:
            return unjudged(*belied)
        return self._judge(words, profile, facts, asked, question)

    def asked(self, words: Sequence[str], *, gpus: Gpus) -> Asked:
        """What a command asks for; nothing where nobody read its release."""
        if self.reader is None:
            return Asked(profile=None)
        return self.reader.read(words, gpus=gpus, identify=self.identify)

    def layout(self, words: Sequence[str], *, gpu: str, sees: int | None = None) -> int | None:
        """The GPUs that a command's ranks take, on all nodes, of those that it `sees` on each; `None` for one that is not read."""
        profile = self.asked(words, gpus=Gpus(kind=Text(gpu), count=1)).profile
        if profile is None or any(beyond_bounds(profile)):
            return None
        parallel = profile.parallel
        ranks = (
            parallel.tensor * parallel.pipeline * (1 if parallel.dp_attention else parallel.data)
        )
        if sees is None or self.engine is None:
            return ranks
        return min(ranks, sees * self.engine.nodes(profile, self.release))

    def completed(
        self, profile: Profile, asked: Asked, question: Question
    ) -> tuple[Profile, Facts]:
        """A profile with what the engine picks by itself, and what is known about it."""
        facts = self._facts(profile, question)
        return self._completed(asked, profile, facts), facts

    def identify(self, name: str) -> str:
        """The catalogue's id of a model's name, or of a path that ends like one."""
        return self.names.identify(name)

    def _unread(self, question: Question) -> Diagnostic:
        if self.engine is not None and self.release is not None:
            from compiler.engines.adopting import unread  # noqa: PLC0415 - only where nobody wrote a reader

            return unread(self.engine.name)
        known = ", ".join(self.catalog.versions(question.engine))
        return error(
            "release-unknown",
            f"nobody described {question.engine} {question.version}",
            notes=(f"known releases: {known or 'none'}",),
            help=() if self.engine is None else (READ_FLAGS,),
        )

    def _facts(self, profile: Profile, question: Question) -> Facts:
        model = self.catalog.model(profile.model.id)[0]
        own = question.model
        model = model if own is None else evolve(own, id=profile.model.id or own.id)
        if model is not None and self.engine is not None:
            model = self.engine.declared(model, profile)
        asked = profile.speculative
        draft = self.catalog.draft(asked.draft)[0] if asked and asked.draft else None
        return Facts(
            gpu=self._gpu(question),
            model=model,
            draft=draft,
            release=self.release,
            boots=known_boots(self._boots(profile, question), profile, self.catalog),
            measured=question.measured,
            request_tokens=question.context,
            weights=question.weights,
        )

    def _boots(self, profile: Profile, question: Question) -> tuple[Boot, ...]:
        # A public boot of a whole card says nothing about a part of one.
        public = question.public and question.gpu_memory_gib is None
        shipped = self.catalog.public_boots(profile.model.id) if public else ()
        return (*question.boots, *self.catalog.boots()[0], *shipped)

    def _gpu(self, question: Question) -> Gpu | None:
        known = self.catalog.gpu(question.gpu)[0]
        asked = question.gpu_memory_gib
        if asked is None:
            if known is None or known.free_before_load_gib is not None:
                return known
            # No log of it is public: what the driver and NCCL take of other cards is the range.
            asked = known.total_mib / MIB
        if known is not None:
            return resized(known, asked, count=question.count)
        return custom(asked, count=question.count) if question.gpu == CUSTOM else None

    def _of_the_card(self, profile: Profile, plan: Plan) -> Iterator[str]:
        """That nobody saw a server start on this kind of GPU, where the figures hang on it, and that its name says no size."""
        known, memory = self.catalog.gpu(profile.gpus.kind)[0], plan.memory
        others = None if known is None else other_sizes(known)
        if others is not None and plan.gpu is known:
            yield f"{others} (`--gpu-memory GIB`)"
        if known is not None and known.free_before_load_gib is None and memory is not None:
            free = said(memory.free_before_load_gib, ".1f", unit=" GiB")
            yield f"no log of a start on `{known.id}` is known: {free} are free, as other cards leave of such a total"

    def _completed(self, asked: Asked, profile: Profile, facts: Facts) -> Profile:
        """The profile with what the engine works out by itself: the context, then the fraction."""
        if facts.model is not None:
            model, serve = profile.model, profile.serve
            if model.id != facts.model.id:
                model = evolve(model, id=Text(facts.model.id))
            if not asked.context_given:
                serve = evolve(serve, context=facts.model.context)
            if model is not profile.model or serve is not profile.serve:
                profile = evolve(profile, model=model, serve=serve)
        if asked.fraction_given or self.engine is None:
            return profile
        fraction = self.engine.automatic_fraction(profile, facts)
        if fraction is None or not 0 < fraction < 1:
            return profile
        return evolve(profile, memory=evolve(profile.memory, fraction=fraction))

    def _judge(
        self,
        words: Sequence[str],
        profile: Profile,
        facts: Facts,
        asked: Asked,
        question: Question,
    ) -> Judged:
        given = Spelled(command=tuple(words), options=(), environment=tuple(_variables(profile)))
        plan = plan_of("", profile, facts, self.engine, asked.unknowns, spelled=given)
        own = (*self._of_the_card(profile, plan), *_assumptions(asked, plan, question))
        assumptions = (*question.assumed, *own)
        if plan.unknowns or assumptions:
            plan = evolve(
                plan,
                memory=None if asked.unknowns else plan.memory,
                effective=None if asked.unknowns else plan.effective,
                unknowns=tuple(
                    beside_catalogue(each, self.catalog, profile) for each in plan.unknowns
                ),
                assumptions=(*plan.assumptions, *assumptions),
            )
        return Judged(
            profile_name="",
            target_name=None,
            verdict=verdict(plan),
            plan=plan,
            diagnostics=tuple(_findings(plan)),
        )


def make_predictor(
    catalog: Catalog, *, engine: str, version: str, read_file: ReadFile | None = None
) -> Predictor:
    """A predictor for one release of an engine; `read_file` reads the files that commands name, without it none is read."""
    known = ENGINES.get(engine)
    release = catalog.release(engine, version)[0] if known is not None else None
    reader = None
    if known is not None and release is not None:
        reader = known.command_reader(release, read_file=read_file)
    return Predictor(
        catalog=catalog, engine=known, release=release, reader=reader, names=model_names(catalog)
    )


def _variables(profile: Profile) -> Iterator[Variable]:
    for name in sorted(profile.env):
        yield Variable(name=name, value=profile.env[name], setting=f"env.{name}")


def _assumptions(asked: Asked, plan: Plan, question: Question) -> Iterator[str]:
    yield from asked.assumptions
    if not asked.fraction_given and plan.memory is not None and not asked.unknowns:
        yield f"no static fraction is given: the engine picks {plan.memory.fraction:.4g}"
    if not asked.context_given and plan.model is not None:
        are = "are promised" if question.context is None else "are the server's"
        yield f"no context is given: the model's own {plan.model.context:,} tokens {are}"
    if plan.gpu is not None and plan.gpu.id == CUSTOM:
        yield "the GPU is one of compute capability 8.0; its kernels, and with them buffers, may be others"


def _findings(plan: Plan) -> Iterator[Diagnostic]:
    """What the rules find, without the places in files that a command does not have; the help speaks of settings."""
    for found in check(plan, NOWHERE):
        if found.code not in OUTSIDE:
            yield evolve(placeless(found), primary=None, secondary=())


def _too_long(question: Question, profile: Profile) -> Iterator[Diagnostic]:
    """That requests are promised which the server refuses, whatever its memory."""
    most = profile.serve.context
    if question.context is not None and not isinstance(most, str) and question.context > most:
        yield error(
            "bad-value",
            f"`--context`: requests of {question.context:,} tokens are promised, and the server takes {most:,} at most",
            help=(f"promise less, or set `serve.context = {question.context}`",),
        )
