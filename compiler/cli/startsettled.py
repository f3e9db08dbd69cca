"""What is asked for goes in; the service that `init` writes for it comes out, judged: its place, its layout, its fraction."""

from __future__ import annotations

from attrs import evolve, frozen

from compiler.catalog import Catalog
from compiler.cli.session import Session
from compiler.cli.startlayout import eased, laid_out
from compiler.cli.startplace import Place, placed
from compiler.judged import Checked
from compiler.starter import FirstService
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Settled(Value):
    """A service as it is written, or as it is refused where nothing keeps what is asked for.

    Attributes:
        place: with what runs beside it.
        session: what shows its findings.
    """

    place: Place
    wanted: FirstService
    checked: Checked
    session: Session


def settled(place: Place, asked: FirstService) -> Settled:
    """The service for what is asked: on its host, laid out, eased where memory alone refuses it, with the usual fraction."""
    place, wanted = placed(place, asked)
    wanted = laid_out(place, wanted)
    checked, session = place.judged(wanted)
    if checked.refused:
        easier = eased(place, wanted)
        if easier is None:
            return Settled(place=place, wanted=wanted, checked=checked, session=session)
        wanted = easier
        checked, session = place.judged(wanted)
    filled = _filled(wanted, checked, place.catalog)
    again, its_session = place.judged(filled)
    if not again.refused:
        checked, session, wanted = again, its_session, filled
    return Settled(place=place, wanted=wanted, checked=checked, session=session)


def _filled(wanted: FirstService, checked: Checked, catalog: Catalog) -> FirstService:
    """The same with the fraction to begin with; the promise alone wants less, and would leave the rest of the GPU idle."""
    plan = checked.judged[0].plan
    if plan is None or plan.memory is None:
        return wanted
    from compiler.remedy.replanning import Replanner  # noqa: PLC0415 - only a tree that is written
    from compiler.remedy.trials import Trials  # noqa: PLC0415 - as above
    from compiler.remedy.usual import picked_fraction, usual_fraction  # noqa: PLC0415 - as above

    trials = Trials(replan=Replanner(plan=plan, catalog=catalog))
    usual = usual_fraction(plan, trials)
    shares = plan.gpu is not None and plan.gpu.unified
    return evolve(wanted, fraction=usual, picked=picked_fraction(plan, trials), shares=shares)
