"""How important a memory is by now: what was said of it, how often it is used, how long ago it was used last.

Pure. It is worked out when it is asked for, from what the records keep of a memory's use, so that reading
a memory changes no score. What a hit gains by it is left to those who rank.

Importance is a weighted mean of three numbers from 0 to 1:

  explicit   .6   what whoever wrote the memory gave it
  frequency  .2   uses / (uses + 8): 1 use is .11, 8 are .5, 72 are .9
  recency    .2   halved every 30 days since it was used last, or else was written

Chosen, not fitted: nobody has labelled what was important. What is said outweighs all that use can add, since
a search counts as a use of what it finds, so that what is found once is found again. An ordinary memory (.5)
has .5 on the day it is written, falls to .3 if nobody ever uses it, and rises to .7 at most; a vital one (1)
never falls below .6.
"""

import math
from datetime import datetime, timedelta
from typing import Final

#: What each part is worth. Together they are 1.
EXPLICIT: Final = 0.6
FREQUENCY: Final = 0.2
RECENCY: Final = 0.2

#: Uses that are worth half of what uses can be worth: a session or two in which the memory mattered.
HALF_OF_USES: Final = 8

#: Projects are worked on for days to weeks at a time. After a month away, half of the recency is left.
HALF_LIFE: Final = timedelta(days=30)


def importance(
    explicit: float, uses: int, last_used_at: datetime | None, created_at: datetime, now: datetime
) -> float:
    """What a memory is worth, from 0 to 1; more with each use, less with each day without one."""
    frequency = uses / (uses + HALF_OF_USES)
    recency = _recency(max(last_used_at or created_at, created_at), now)
    # Rounding may take the sum of the three a little above 1.
    return min(1.0, EXPLICIT * explicit + FREQUENCY * frequency + RECENCY * recency)


def _recency(last: datetime, now: datetime) -> float:
    """1 at the last use, and before it: a clock may have been set back since."""
    return math.exp2(-max(now - last, timedelta(0)) / HALF_LIFE)
