"""Who gets which response from every address; test_access.py requests each as each person.

`login`: redirected to log in. `in`: allowed (also a form that comes back with faults). Otherwise
the status: 401 without credentials, 404 for what belongs to others, 403 where the role is too low.
"""

PEOPLE = (
    "nobody",
    "stranger",
    "annotator elsewhere",
    "researcher elsewhere",
    "annotator",
    "reviewer",
    "owner",
)
ADMIN = "admin/"
# Part of an address → key of World.parts (tests/world.py) whose value replaces the group.
FILL = (
    (r"join/(<str:secret>)", "secret"),
    (r"instructions/(<path:signed>)", "picture"),
    (r"campaigns/(<slug:(?:name|campaign)>)/graph/", "birds"),
    (r"campaigns/(<slug:(?:name|campaign)>)/classes/", "finds"),
    (r"campaigns/(<slug:name>)/label/class/", "names"),
    (r"campaigns/(<slug:(?:name|campaign)>)", "campaign"),
    (r"datasets/(<slug:(?:name|dataset)>)", "dataset"),
    (r"benchmarks/(<slug:\w+>)/(?:predictions|people|orders\.json|sequences\.jsonl)", "reveal"),
    (r"benchmarks/(<slug:\w+>)/classifiers/<int:position>", "reveal"),
    (r"benchmarks/(<slug:\w+>)/runs/<int:pk>/(?:sequences|galleries)", "reveal"),
    (r"api/v1/benchmarks/(<slug:\w+>)/runs/<int:pk>/answers", "reveal"),
    (r"benchmarks/(<slug:\w+>)/(?:label-sets|label-audit|reviews|models|model-runs)", "classes"),
    (r"model-runs/(<int:pk>)", "model run"),
    (r"label-sets/(<int:version>)", "2"),
    (r"benchmarks/(<slug:\w+>)/(?:submissions|truth[./-]|images\.txt)", "maps"),
    (r"(?:truth|truth-versions)/(<int:version>)", "1"),
    (r"benchmarks/(<slug:\w+>)/runs/<int:pk>/(?:images|newest)", "maps"),
    (r"submissions/(<str:classifier>)", "alpha"),
    (r"benchmarks/maps/runs/(<int:pk>)", "mapped"),
    (r"runs/(?:<int:pk>|\d+)/images/(<int:number>)", "0"),
    (r"benchmarks/reveal/runs/(<int:pk>)", "revealed"),
    (r"sequences/(<int:number>)", "0"),
    (r"frames/(<int:frame>)", "1"),
    (r"(?:predictions|classifiers|submissions)/(<int:position>)", "0"),
    (r"benchmarks/(<slug:(?:name|benchmark)>)", "benchmark"),
    (r"label/example/(<str:token>)", "example token"),
    (r"label/(<str:token>)", "seat"),
    (r"seats/(<slug:token>)", "seat"),
    (r"tokens/(<(?:str:key|slug:token_key)>)", "token"),
    (r"questions/(<int:pk>)/(?:review|decide|accept|send-back)", "reviewed"),
    (r"questions/(<int:pk>)", "question"),
    (r"flags/(<uuid:pk>)", "flag"),
    (r"(?<!part-)imports/(<int:pk>)", "import"),
    (r"(?:objects/import|part-imports)/(<int:pk>)", "parts import"),
    (r"objects/(<int:pk>)", "object"),
    (r"labels/(<int:pk>)", "label import"),
    (r"(?:members|people|blocks)/(<int:pk>)", "member"),
    (r"rights/(<int:pk>)", "1"),
    (r"models/(<str:\w+>)", "colours"),
    (r"audit/(<int:pk>)", "audit"),
    (r"invitations/(<int:pk>)", "invitation"),
    (r"graph/nodes/(<path:node>)", "node"),
    (r"graph/(<int:version>)", "1"),
    (r"vocabulary/(?:versions/)?(<int:version>)", "1"),
    (r"vocabulary/categories/(<slug:key>)", "n02084071"),
    (r"gold/(<int:pk>)", "gold"),
    (r"topics/(<int:pk>)", "topic"),
    (r"(?:topics|classes)/(<str:key>)", "topic key"),
    (r"classes/(<path:key>)", "n02018207"),
    (r"examples/(<int:pk>)", "example"),
    (r"jobs/(<int:pk>)", "job"),
    (r"pools/(<int:(?:pk|pool)>)", "pool"),
    (r"selections/(<int:(?:pk|selection)>)", "selection"),
    (r"failure-tags/(<int:selection>)", "counterexample"),
    (r"overlap/(<int:to>)", "selection"),
    (r"releases/(<int:number>)", "release"),
    (r"splits/(<int:pk>)", "split"),
    (r"calibrations/(<int:number>)", "1"),
    (r"files/(<str:file>)", "answers.jsonl"),
    (r"images/(<int:pk>)", "image"),
    (r"images/views/(<int:pk>)", "saved view"),
    (r"runs/(<int:pk>)", "run"),
    (r"new/(<slug:family>)", "mad"),
    (r"runs/(?:<int:pk>|\d+)/(<file:file>)", "answers.jsonl"),
    (r"(<file:file>)", "selection.jsonl"),
    (r"(<slug:table>)", "pairs"),
    (r"(<slug:figure>)", "ranks"),
    (r"(<str:form>)", "svg"),
    (r"language/(<str:language>)", "de"),
    (r"language/de-(<str:version>)", "0"),
    (r"pairs/(<int:first>)", "0"),
    (r"uploads/(<slug:sha256>)", "partial upload"),
    (r"(<int:second>)", "1"),
    (r"confirm-email/(\^?\(\?P<key>.*?\))/", "abc"),
    (r"reset/key/(\(\?P<uidb36>.*?\)-\(\?P<key>.*?\))/", "1-abc"),
)


def rows(expected: str, addresses: str) -> dict[str, tuple[str, ...]]:
    """ "METHOD address" → the outcome for each of PEOPLE, in their order."""
    outcomes = tuple(expected.split())
    assert len(outcomes) == len(PEOPLE)
    table = {}
    for line in addresses.split("\n"):
        methods, _, address = line.strip().partition(" ")
        table |= {f"{method} {address}": outcomes for method in methods.split(",") if method}
    return table


ROWS = (
    rows(
        "in in in in in in in",
        r"""
        GET
        GET join/<str:secret>/
        POST language/
        GET language/<str:language>-<str:version>.js
        GET,POST,PUT,PATCH,DELETE campaigns/<slug:name>/label/along/
        GET campaigns/<slug:name>/label/along/worker.js
        GET api/schema/
        GET api/docs/
        GET,POST accounts/login/
        GET accounts/inactive/
        GET,POST accounts/signup/
        GET accounts/confirm-email/
        GET,POST accounts/password/reset/
        GET accounts/confirm-email/(?P<key>[-:\w]+)/$
        GET accounts/password/reset/key/done/
        GET,POST accounts/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$
        GET accounts/password/reset/done/
        """,
    )
    | rows(
        "login in in in in in in",
        r"""
        POST join/<str:secret>/
        GET campaigns/
        GET next/
        GET,POST tokens/
        GET benchmarks/
        GET nightly/
        GET accounts/logout/
        GET,POST accounts/reauthenticate/
        GET,POST accounts/email/
        GET,POST accounts/password/change/
        GET,POST accounts/password/set/
        GET,POST accounts/login/code/confirm/
        """,
    )
    | rows(
        "login 404 404 404 in in in",
        r"""
        GET,POST campaigns/<slug:name>/label/
        GET,POST campaigns/<slug:name>/training/
        GET campaigns/<slug:name>/standing/
        GET,POST campaigns/<slug:name>/tutorial/
        GET,POST campaigns/<slug:name>/label/flags/
        GET campaigns/<slug:name>/label/class/
        GET campaigns/<slug:name>/label/last/
        GET campaigns/<slug:name>/picture
        GET campaigns/<slug:name>/instructions/<path:signed>
        GET label/example/<str:token>/image
        """,
    )
    # The API of a campaign, for everybody in it.
    | rows(
        "401 404 404 404 in in in",
        r"""
        POST campaigns/<slug:name>/label/page/
        POST campaigns/<slug:name>/label/answers/
        POST campaigns/<slug:name>/label/skip/
        POST campaigns/<slug:name>/label/leave/
        POST campaigns/<slug:name>/label/flag/
        POST campaigns/<slug:name>/label/seat/
        POST campaigns/<slug:name>/label/draft/
        POST campaigns/<slug:name>/label/propose/
        GET api/v1/campaigns/<slug:name>/
        GET api/v1/campaigns/<slug:campaign>/topics/
        GET api/v1/campaigns/<slug:campaign>/topics/<str:key>/
        POST api/v1/campaigns/<slug:campaign>/seats/
        POST api/v1/campaigns/<slug:campaign>/answers/
        """,
    )
    # A campaign's pages for its researchers and reviewers.
    | rows(
        "login 404 404 404 403 in in",
        r"""
        GET campaigns/<slug:name>/preview/
        GET campaigns/<slug:name>/
        GET campaigns/<slug:name>/progress/
        GET campaigns/<slug:name>/questions/
        GET campaigns/<slug:name>/questions/<int:pk>/
        GET campaigns/<slug:name>/questions/<int:pk>/image
        GET campaigns/<slug:name>/questions/<int:pk>/thumbnail
        POST campaigns/<slug:name>/questions/<int:pk>/decide/
        POST campaigns/<slug:name>/questions/<int:pk>/accept/
        POST campaigns/<slug:name>/questions/<int:pk>/send-back/
        GET campaigns/<slug:name>/review/
        GET campaigns/<slug:name>/agreement/
        GET campaigns/<slug:name>/boxes/
        GET campaigns/<slug:name>/overlaps/
        POST campaigns/<slug:name>/overlaps/decide/
        GET campaigns/<slug:name>/quality/
        GET campaigns/<slug:name>/classes/
        GET campaigns/<slug:name>/classes/classes.csv
        GET,POST campaigns/<slug:name>/audit/
        POST campaigns/<slug:name>/audit/<int:pk>/answer/
        GET campaigns/<slug:name>/graph/
        GET campaigns/<slug:name>/graph/price/
        GET campaigns/<slug:name>/graph/<int:version>/
        GET campaigns/<slug:name>/graph/<int:version>/download
        """,
    )
    | rows(
        "login 403 403 403 in 403 403",
        r"""
        GET label/<str:token>/image
        """,
    )
    # For administrators of the site, who are not among these people.
    | rows(
        "login 403 403 403 403 403 403",
        r"""
        GET rights/
        POST rights/<int:pk>/
        POST models/
        POST models/<str:model>/remove/
        """,
    )
    | rows(
        "login 403 403 in 403 403 in",
        r"""
        GET,POST campaigns/new/
        POST campaigns/new/estimate/
        GET models/
        GET datasets/
        GET,POST datasets/new/
        POST photographs/
        GET,POST benchmarks/new/
        GET,POST benchmarks/new/cds/
        GET,POST benchmarks/new/released/
        GET,POST benchmarks/new/<slug:family>/
        """,
    )
    # A campaign's pages for its researchers.
    | rows(
        "login 404 404 404 403 403 in",
        r"""
        POST campaigns/<slug:name>/state/
        POST campaigns/<slug:name>/graph/
        POST campaigns/<slug:name>/graph/price/
        POST campaigns/<slug:name>/graph/load/
        POST campaigns/<slug:name>/quality/calibrate/
        POST campaigns/<slug:name>/classes/
        POST campaigns/<slug:name>/classes/look/
        POST campaigns/<slug:name>/classes/state/
        GET,POST campaigns/<slug:name>/pilot/
        GET,POST campaigns/<slug:name>/graph/nodes/<path:node>/
        GET campaigns/<slug:name>/close/
        GET,POST campaigns/<slug:name>/undo/
        POST campaigns/<slug:name>/invitations/<int:pk>/delete/
        GET,POST campaigns/<slug:name>/edit/
        GET,POST campaigns/<slug:name>/texts/
        GET campaigns/<slug:name>/texts/texts.json
        GET,POST campaigns/<slug:name>/policy/
        POST campaigns/<slug:name>/vocabulary/
        GET,POST campaigns/<slug:name>/questions/add/
        POST campaigns/<slug:name>/questions/<int:pk>/withdraw/
        POST campaigns/<slug:name>/questions/ask-more/
        GET campaigns/<slug:name>/flags/
        POST campaigns/<slug:name>/flags/<uuid:pk>/reply/
        GET campaigns/<slug:name>/people/
        GET campaigns/<slug:name>/people/<int:pk>/
        GET,POST campaigns/<slug:name>/people/<int:pk>/block/
        GET,POST campaigns/<slug:name>/people/<int:pk>/unblock/
        GET,POST campaigns/<slug:name>/people/<int:pk>/pause/
        GET,POST campaigns/<slug:name>/people/<int:pk>/pardon/
        POST campaigns/<slug:name>/people/<int:pk>/quotas/
        POST campaigns/<slug:name>/people/<int:pk>/role/
        POST campaigns/<slug:name>/people/<int:pk>/remove/
        POST campaigns/<slug:name>/invitations/
        POST campaigns/<slug:name>/invitations/many/
        POST campaigns/<slug:name>/invitations/<int:pk>/revoke/
        GET campaigns/<slug:name>/gold/
        GET,POST campaigns/<slug:name>/gold/add/
        GET campaigns/<slug:name>/gold/objects/
        GET,POST campaigns/<slug:name>/gold/objects/<int:pk>/
        GET campaigns/<slug:name>/gold/objects/<int:pk>/image
        POST campaigns/<slug:name>/gold/upload/
        POST campaigns/<slug:name>/gold/promote/
        POST campaigns/<slug:name>/gold/random/
        POST campaigns/<slug:name>/gold/<int:pk>/retire/
        GET,POST campaigns/<slug:name>/topics/
        GET,POST campaigns/<slug:name>/topics/<int:pk>/
        POST campaigns/<slug:name>/topics/<int:pk>/examples/
        POST campaigns/<slug:name>/topics/<int:pk>/examples/remove/
        GET campaigns/<slug:name>/jobs/
        POST campaigns/<slug:name>/jobs/<int:pk>/retry/
        GET campaigns/<slug:name>/releases/
        POST campaigns/<slug:name>/releases/freeze/
        GET campaigns/<slug:name>/releases/<int:number>/download
        GET campaigns/<slug:name>/releases/<int:number>/labels
        GET campaigns/<slug:name>/releases/<int:number>/labels/options/
        GET campaigns/<slug:name>/releases/<int:number>/objects/
        GET,POST campaigns/<slug:name>/releases/<int:number>/
        GET,POST campaigns/<slug:name>/releases/<int:number>/splits/
        GET campaigns/<slug:name>/releases/<int:number>/splits/<int:pk>/split.zip
        POST campaigns/<slug:name>/releases/<int:number>/splits/<int:pk>/delete/
        """,
    )
    # What annotators need not know of: datasets, benchmarks, another's tokens.
    | rows(
        "login 404 404 404 404 404 in",
        r"""
        GET datasets/<slug:name>/
        GET,POST datasets/<slug:name>/upload/
        GET,POST datasets/<slug:name>/undo/
        GET,POST datasets/<slug:name>/images/<int:pk>/undo/
        POST datasets/<slug:name>/import/
        GET,POST datasets/<slug:name>/labels/
        GET datasets/<slug:name>/candidates.csv
        GET datasets/<slug:name>/imports/
        GET datasets/<slug:name>/imports/<int:pk>/
        POST datasets/<slug:name>/imports/<int:pk>/retry/
        GET datasets/<slug:name>/images/
        GET datasets/<slug:name>/images/<int:pk>/
        GET datasets/<slug:name>/images/<int:pk>/display
        POST datasets/<slug:name>/images/views/
        POST datasets/<slug:name>/images/views/<int:pk>/remove/
        GET datasets/<slug:name>/images/<int:pk>/thumbnail
        GET datasets/<slug:name>/objects/
        GET,POST datasets/<slug:name>/objects/import/
        GET datasets/<slug:name>/objects/import/<int:pk>/
        POST datasets/<slug:name>/objects/import/<int:pk>/again/
        GET datasets/<slug:name>/objects/<int:pk>/
        GET datasets/<slug:name>/objects/<int:pk>/image
        POST datasets/<slug:name>/objects/<int:pk>/merge/
        GET,POST datasets/<slug:name>/vocabulary/
        POST datasets/<slug:name>/vocabulary/start/
        GET,POST datasets/<slug:name>/vocabulary/new/
        GET,POST datasets/<slug:name>/vocabulary/categories/<slug:key>/
        POST datasets/<slug:name>/vocabulary/categories/<slug:key>/remove/
        GET datasets/<slug:name>/vocabulary/<int:version>/
        GET datasets/<slug:name>/vocabulary/<int:version>/download
        GET,POST datasets/<slug:name>/pools/
        GET datasets/<slug:name>/pools/<int:pk>/pool.zip
        GET,POST datasets/<slug:name>/pools/<int:pk>/selections/
        GET,POST datasets/<slug:name>/pools/<int:pk>/selections/<int:selection>/
        GET datasets/<slug:name>/pools/<int:pk>/selections/<int:selection>/selection.jsonl
        POST tokens/<str:key>/revoke/
        GET benchmarks/<slug:name>/
        GET,POST benchmarks/<slug:name>/label-audit/
        GET,POST benchmarks/<slug:name>/models/
        POST benchmarks/<slug:name>/score/
        GET,POST benchmarks/<slug:name>/classifiers/add/
        GET,POST benchmarks/<slug:name>/accuracies/
        POST benchmarks/<slug:name>/true-labels/
        GET benchmarks/<slug:name>/case-iii.csv
        GET benchmarks/<slug:name>/classes/
        GET,POST benchmarks/<slug:name>/failure-tags/
        POST benchmarks/<slug:name>/failure-tags/<int:selection>/
        GET benchmarks/<slug:name>/failure-tags.csv
        GET benchmarks/<slug:name>/pairs/<int:first>/<int:second>/
        GET benchmarks/<slug:name>/selection.jsonl
        GET benchmarks/<slug:name>/runs/<int:pk>/
        GET benchmarks/<slug:name>/runs/<int:pk>/result.json
        GET benchmarks/<slug:name>/runs/<int:pk>/answers.jsonl
        GET benchmarks/<slug:name>/runs/<int:pk>/<slug:table>.csv
        GET benchmarks/<slug:name>/runs/<int:pk>/<slug:figure>.<str:form>
        GET,POST benchmarks/<slug:name>/predictions/
        POST benchmarks/<slug:name>/predictions/<int:position>/remove/
        GET benchmarks/<slug:name>/sequences.jsonl
        GET benchmarks/<slug:name>/orders.json
        GET,POST benchmarks/<slug:name>/people/
        GET benchmarks/<slug:name>/runs/<int:pk>/sequences/
        GET benchmarks/<slug:name>/runs/<int:pk>/sequences/<int:number>/
        GET,POST benchmarks/<slug:name>/runs/<int:pk>/sequences/<int:number>/frames/
        GET benchmarks/<slug:name>/runs/<int:pk>/sequences/<int:number>/frames/<int:frame>.webp
        GET benchmarks/<slug:name>/runs/<int:pk>/galleries/
        GET benchmarks/<slug:name>/runs/<int:pk>/sequences.jsonl
        GET,POST benchmarks/<slug:name>/submissions/
        GET,POST benchmarks/<slug:name>/label-sets/
        GET benchmarks/<slug:name>/label-sets/<int:version>.zip
        POST benchmarks/<slug:name>/submissions/<int:position>/remove/
        GET benchmarks/<slug:name>/truth.zip
        GET,POST benchmarks/<slug:name>/truth/
        GET,POST benchmarks/<slug:name>/undo/
        GET benchmarks/<slug:name>/truth/<int:version>.zip
        GET benchmarks/<slug:name>/<file:file>
        GET benchmarks/<slug:name>/runs/<int:pk>/<file:file>
        GET benchmarks/<slug:name>/runs/<int:pk>/images.jsonl
        GET benchmarks/<slug:name>/runs/<int:pk>/images/
        GET benchmarks/<slug:name>/runs/<int:pk>/images/<int:number>/
        GET benchmarks/<slug:name>/runs/<int:pk>/images/<int:number>/photo
        """,
    )
    | rows(
        "401 in in in in in in",
        r"""
        GET api/v1/
        GET api/v1/me/
        GET,POST api/v1/tokens/
        POST api/v1/invitations/accept/
        GET api/v1/datasets/
        GET api/v1/campaigns/
        GET api/v1/benchmarks/
        """,
    )
    # The API of what annotators need not know of.
    | rows(
        "401 404 404 404 404 404 in",
        r"""
        DELETE api/v1/tokens/<slug:token_key>/
        GET,PATCH api/v1/uploads/<slug:sha256>/
        GET,DELETE api/v1/datasets/<slug:name>/
        GET api/v1/datasets/<slug:name>/dependents/
        GET api/v1/datasets/<slug:name>/tombstones/
        POST api/v1/datasets/<slug:dataset>/images/<int:pk>/remove-pixels/
        POST api/v1/datasets/<slug:name>/archive/
        POST api/v1/datasets/<slug:name>/unarchive/
        POST api/v1/datasets/<slug:name>/rename/
        GET,POST api/v1/datasets/<slug:dataset>/images/
        GET,DELETE api/v1/datasets/<slug:dataset>/images/<int:pk>/
        GET api/v1/datasets/<slug:dataset>/images/browse/
        GET api/v1/datasets/<slug:dataset>/images/<int:pk>/display/
        GET api/v1/datasets/<slug:dataset>/images/<int:pk>/thumbnail/
        GET api/v1/datasets/<slug:dataset>/imports/
        GET api/v1/datasets/<slug:dataset>/imports/<int:pk>/
        POST api/v1/datasets/<slug:dataset>/imports/<int:pk>/retry/
        GET api/v1/datasets/<slug:dataset>/objects/
        GET api/v1/datasets/<slug:dataset>/objects/<int:pk>/
        POST api/v1/datasets/<slug:dataset>/objects/<int:pk>/merge/
        GET,POST api/v1/datasets/<slug:dataset>/part-imports/
        GET api/v1/datasets/<slug:dataset>/part-imports/<int:pk>/
        POST api/v1/datasets/<slug:dataset>/part-imports/<int:pk>/again/
        GET,POST api/v1/datasets/<slug:dataset>/labels/
        GET api/v1/datasets/<slug:dataset>/labels/<int:pk>/
        GET,PUT api/v1/datasets/<slug:dataset>/vocabulary/
        GET api/v1/datasets/<slug:dataset>/vocabulary/versions/
        GET api/v1/datasets/<slug:dataset>/vocabulary/versions/<int:version>/
        GET api/v1/datasets/<slug:dataset>/jobs/
        GET,POST api/v1/datasets/<slug:dataset>/pools/
        POST api/v1/datasets/<slug:dataset>/pools/upload/
        GET api/v1/datasets/<slug:dataset>/pools/<int:pk>/
        GET api/v1/datasets/<slug:dataset>/pools/<int:pk>/pool.zip
        GET,POST api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/
        POST api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/plan/
        GET api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/<int:pk>/
        GET api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/<int:pk>/selection.jsonl
        GET api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/<int:pk>/overlap/<int:to>/
        POST api/v1/datasets/<slug:dataset>/pools/<int:pool>/selections/<int:pk>/competition/
        GET,PATCH,DELETE api/v1/benchmarks/<slug:name>/
        GET api/v1/benchmarks/<slug:name>/dependents/
        POST api/v1/benchmarks/<slug:name>/archive/
        POST api/v1/benchmarks/<slug:name>/unarchive/
        POST api/v1/benchmarks/<slug:name>/rename/
        GET,POST api/v1/benchmarks/<slug:benchmark>/classifiers/
        PUT api/v1/benchmarks/<slug:benchmark>/accuracies/
        GET api/v1/benchmarks/<slug:benchmark>/selections/
        GET api/v1/benchmarks/<slug:benchmark>/case-iii/
        GET api/v1/benchmarks/<slug:benchmark>/classes/
        GET api/v1/benchmarks/<slug:benchmark>/classes/<path:key>/
        GET,PUT api/v1/benchmarks/<slug:benchmark>/failure-tags/
        GET api/v1/benchmarks/<slug:benchmark>/failure-tags/counts/
        PUT api/v1/benchmarks/<slug:benchmark>/failure-tags/vocabulary/
        GET api/v1/benchmarks/<slug:benchmark>/selection.jsonl
        POST api/v1/benchmarks/<slug:benchmark>/true-labels/
        GET api/v1/benchmarks/<slug:benchmark>/sequences.jsonl
        GET api/v1/benchmarks/<slug:benchmark>/orders.json
        POST api/v1/benchmarks/<slug:benchmark>/predictions/
        DELETE api/v1/benchmarks/<slug:benchmark>/classifiers/<int:position>/
        GET api/v1/benchmarks/<slug:benchmark>/runs/<int:pk>/sequences.jsonl
        GET api/v1/benchmarks/<slug:benchmark>/runs/<int:pk>/answers.jsonl
        GET,POST api/v1/benchmarks/<slug:benchmark>/submissions/
        GET,POST api/v1/benchmarks/<slug:benchmark>/reviews/
        GET,POST api/v1/benchmarks/<slug:benchmark>/model-runs/
        GET api/v1/benchmarks/<slug:benchmark>/model-runs/<int:pk>/
        GET,POST api/v1/benchmarks/<slug:benchmark>/label-sets/
        GET api/v1/benchmarks/<slug:benchmark>/label-sets/<int:version>.zip
        PUT,DELETE api/v1/benchmarks/<slug:benchmark>/submissions/<str:classifier>/
        GET api/v1/benchmarks/<slug:benchmark>/truth.zip
        GET api/v1/benchmarks/<slug:benchmark>/images.txt
        GET api/v1/benchmarks/<slug:benchmark>/truth-versions/
        GET api/v1/benchmarks/<slug:benchmark>/truth-versions/<int:version>.zip
        GET api/v1/benchmarks/<slug:benchmark>/runs/<int:pk>/images.jsonl
        GET api/v1/benchmarks/<slug:benchmark>/runs/<int:pk>/newest.jsonl
        GET,POST api/v1/benchmarks/<slug:benchmark>/runs/
        GET api/v1/benchmarks/<slug:benchmark>/runs/<int:pk>/
        """,
    )
    | rows(
        "401 403 403 403 403 403 403",
        r"""
        POST api/v1/models/
        DELETE api/v1/models/<str:name>/
        """,
    )
    | rows(
        "401 403 403 in 403 403 in",
        r"""
        GET api/v1/models/
        POST api/v1/uploads/
        POST api/v1/datasets/
        POST api/v1/campaigns/
        POST api/v1/benchmarks/
        POST api/v1/benchmark-plans/
        POST api/v1/cds-benchmarks/
        POST api/v1/cds-benchmark-plans/
        POST api/v1/released-benchmarks/
        POST api/v1/released-benchmark-plans/
        POST api/v1/benchmark-kinds/mad/benchmarks/
        POST api/v1/benchmark-kinds/mad/plans/
        POST api/v1/benchmark-kinds/cds/benchmarks/
        POST api/v1/benchmark-kinds/cds/plans/
        POST api/v1/benchmark-kinds/labeled/benchmarks/
        POST api/v1/benchmark-kinds/labeled/plans/
        """,
    )
    # The API of a campaign, for its researchers.
    | rows(
        "401 404 404 404 403 403 in",
        r"""
        PATCH,DELETE api/v1/campaigns/<slug:name>/
        GET api/v1/campaigns/<slug:name>/dependents/
        POST api/v1/campaigns/<slug:name>/archive/
        POST api/v1/campaigns/<slug:name>/unarchive/
        POST api/v1/campaigns/<slug:name>/rename/
        POST api/v1/campaigns/<slug:name>/clone/
        POST api/v1/campaigns/<slug:name>/launch/
        POST api/v1/campaigns/<slug:name>/pause/
        POST api/v1/campaigns/<slug:name>/resume/
        POST api/v1/campaigns/<slug:name>/close/
        GET api/v1/campaigns/<slug:name>/estimate/
        GET api/v1/campaigns/<slug:name>/progress/
        POST api/v1/campaigns/<slug:campaign>/policies/
        GET api/v1/campaigns/<slug:campaign>/decisions/
        POST api/v1/campaigns/<slug:campaign>/topics/
        PATCH api/v1/campaigns/<slug:campaign>/topics/<str:key>/
        POST api/v1/campaigns/<slug:campaign>/topics/<str:key>/examples/
        DELETE api/v1/campaigns/<slug:campaign>/topics/<str:key>/examples/<int:pk>/
        POST api/v1/campaigns/<slug:campaign>/questions/
        POST api/v1/campaigns/<slug:campaign>/questions/withdraw/
        POST api/v1/campaigns/<slug:campaign>/questions/ask-more/
        POST api/v1/campaigns/<slug:campaign>/objects/
        GET,POST api/v1/campaigns/<slug:campaign>/gold/
        POST api/v1/campaigns/<slug:campaign>/gold/promote/
        POST api/v1/campaigns/<slug:campaign>/gold/random/
        POST api/v1/campaigns/<slug:campaign>/gold/<int:pk>/retire/
        GET api/v1/campaigns/<slug:campaign>/flags/
        POST api/v1/campaigns/<slug:campaign>/flags/<uuid:pk>/reply/
        GET api/v1/campaigns/<slug:campaign>/members/
        GET,PATCH,DELETE api/v1/campaigns/<slug:campaign>/members/<int:pk>/
        GET,PUT api/v1/campaigns/<slug:campaign>/members/<int:pk>/quotas/
        GET,POST api/v1/campaigns/<slug:campaign>/invitations/
        GET api/v1/campaigns/<slug:campaign>/answers/
        DELETE api/v1/campaigns/<slug:campaign>/invitations/<int:pk>/
        POST api/v1/campaigns/<slug:campaign>/invitations/<int:pk>/delete/
        POST api/v1/campaigns/<slug:campaign>/policies/preview/
        GET,PUT api/v1/campaigns/<slug:campaign>/texts/
        PUT api/v1/campaigns/<slug:campaign>/graph/
        POST api/v1/campaigns/<slug:campaign>/graph/images/
        GET,POST api/v1/campaigns/<slug:campaign>/calibrations/
        GET api/v1/campaigns/<slug:campaign>/proposal-figures/
        GET,POST api/v1/campaigns/<slug:campaign>/pilots/
        POST api/v1/campaigns/<slug:campaign>/pilots/preview/
        POST api/v1/campaigns/<slug:campaign>/classes/
        POST api/v1/campaigns/<slug:campaign>/classes/<str:key>/stop/
        POST api/v1/campaigns/<slug:campaign>/classes/<str:key>/resume/
        GET api/v1/campaigns/<slug:campaign>/calibrations/<int:number>/
        GET api/v1/campaigns/<slug:campaign>/standings/
        POST api/v1/campaigns/<slug:campaign>/members/<int:pk>/pause/
        POST api/v1/campaigns/<slug:campaign>/members/<int:pk>/pardon/
        GET,POST api/v1/campaigns/<slug:campaign>/blocks/
        DELETE api/v1/campaigns/<slug:campaign>/blocks/<int:pk>/
        GET,POST api/v1/campaigns/<slug:campaign>/releases/
        GET api/v1/campaigns/<slug:campaign>/releases/<int:number>/
        GET api/v1/campaigns/<slug:campaign>/releases/<int:number>/files/<str:file>/
        GET api/v1/campaigns/<slug:campaign>/releases/<int:number>/labels/
        GET,POST api/v1/campaigns/<slug:campaign>/releases/<int:number>/report/
        GET,POST api/v1/campaigns/<slug:campaign>/releases/<int:number>/splits/
        GET,DELETE api/v1/campaigns/<slug:campaign>/releases/<int:number>/splits/<int:pk>/
        GET api/v1/campaigns/<slug:campaign>/releases/<int:number>/splits/<int:pk>/split.zip
        GET api/v1/campaigns/<slug:campaign>/jobs/
        POST api/v1/campaigns/<slug:campaign>/jobs/<int:pk>/retry/
        """,
    )
    # The same, for its reviewers too.
    | rows(
        "401 404 404 404 403 in in",
        r"""
        GET api/v1/campaigns/<slug:campaign>/policies/
        GET api/v1/campaigns/<slug:campaign>/graph/
        GET api/v1/campaigns/<slug:campaign>/graph/price/
        GET api/v1/campaigns/<slug:campaign>/quality/
        GET api/v1/campaigns/<slug:campaign>/classes/
        GET api/v1/campaigns/<slug:campaign>/classes/<str:key>/
        GET,POST api/v1/campaigns/<slug:campaign>/audits/
        GET api/v1/campaigns/<slug:campaign>/topics/<str:key>/examples/
        GET api/v1/campaigns/<slug:campaign>/questions/
        GET api/v1/campaigns/<slug:campaign>/questions/<int:pk>/
        GET api/v1/campaigns/<slug:campaign>/questions/<int:pk>/history/
        POST api/v1/campaigns/<slug:campaign>/questions/<int:pk>/review/
        POST api/v1/campaigns/<slug:campaign>/questions/<int:pk>/accept/
        POST api/v1/campaigns/<slug:campaign>/questions/<int:pk>/send-back/
        """,
    )
    | rows(
        "401 403 403 403 in 403 403",
        r"""
        GET api/v1/seats/<slug:token>/image/
        """,
    )
    | rows(
        "401 404 404 404 in 404 404",
        r"""
        POST api/v1/seats/<slug:token>/skip/
        POST api/v1/seats/<slug:token>/flag/
        """,
    )
    # Of a classifier, which the address alone does not name.
    | rows(
        "login 404 404 404 404 404 404",
        r"""
        GET benchmarks/<slug:name>/runs/<int:pk>/images/<int:number>/map.webp
        """,
    )
    | rows(
        "404 404 404 404 404 404 404",
        r"""
        GET api/
        POST accounts/confirm-email/(?P<key>[-:\w]+)/$
        """,
    )
    | rows(
        "login login login login login login login",
        r"""
        POST accounts/logout/
        """,
    )
)
