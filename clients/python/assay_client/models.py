"""Objects of the API, written by clients/python/generate.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Acceptance(TypedDict):
    seen: NotRequired[int | None]
    reason: NotRequired[str]


class Accuracies(TypedDict):
    accuracies: dict[str, float | None]


class AddedQuestions(TypedDict):
    created: int
    existing: int
    reopened: int


class Answer(TypedDict):
    id: str
    seat: str
    value: Any
    duration_ms: NotRequired[int | None]
    input_method: NotRequired[InputMethodEnum]
    language: NotRequired[LanguageEnum]
    looks: NotRequired[Any]
    along: NotRequired[Any]

AnswerEnum = Literal["yes", "no"]


class AnswerRow(TypedDict):
    id: str
    question: int
    image: str
    topic: str
    step: str
    annotator: str
    value: Any
    gold: bool
    revision: NotRequired[int]
    duration_ms: NotRequired[int | None]
    late: NotRequired[bool]
    created_at: NotRequired[str]


class Answers(TypedDict):
    answers: list[Answer]


class AppliedPolicy(TypedDict):
    content: dict[str, Any]
    confirmed: NotRequired[bool]
    apply: NotRequired[bool]


class ApplyMistakeReview(TypedDict):
    campaign: str
    release: NotRequired[int]
    queue: NotRequired[str | None]


class Arm(TypedDict):
    drawings: int
    parts: int
    seconds_per_part: Mean
    median_seconds_per_part: float | None
    gold_iou: Mean
    others_iou: Mean
    bad: Share


class AskMore(TypedDict):
    people: int
    reason: NotRequired[str]
    questions: list[int]


class AskedMore(TypedDict):
    count: int
    skipped: dict[str, int]


class AskedPair(TypedDict):
    image: str
    topic: NotRequired[str]
    query: NotRequired[str]
    boxes: NotRequired[list[list[float]]]


class AuditEstimate(TypedDict):
    audited: int
    wrong: int
    error: float | None
    interval: list[float]
    sample: int
    drawn: int
    answered: int
    unclear: int
    stated_error: StatedError | None
    stated: float | None
    stated_holds: bool | None
    by_answer: dict[str, ErrorShare]
    boxes: list[BoxError]
    calibration: Reliability | None


class Benchmark(TypedDict):
    name: str
    title: str
    kind: NotRequired[BenchmarkKind]
    campaign: str
    naming: NotRequired[str | None]
    dataset: str
    release: NotRequired[int | None]
    selection: NotRequired[int | None]
    settings: dict[str, Any]
    pinned: bool
    every: NotRequired[EveryEnum]
    min_images: NotRequired[int]
    created_at: NotRequired[str]

BenchmarkKind = Literal["mad", "cds", "classification", "localization", "detection", "wsol"]


class Bin(TypedDict):
    low: float
    high: float
    n: int
    stated: float
    right: float
    interval: list[float]


class Block(TypedDict):
    changed: bool
    answers: int
    decided: int
    reopened: int
    member: int


class BoxError(TypedDict):
    words: str
    audited: int
    missed: int
    error: float
    interval: list[float] | None
    stated: float
    good_at_0_5: float
    good_at_0_7: float


class BroughtIn(TypedDict):
    images: int
    labels: int
    unknown: int
    sources: list[str]
    skipped: list[Skipped]
    mended: list[str]

ByEnum = Literal["wnid", "word"]


class CDSPlan(TypedDict):
    release: int
    objects: int
    sequences: int
    frames: int
    left_out: int
    categories: dict[str, str]


class CDSRequest(TypedDict):
    campaign: str
    release: NotRequired[int]
    part_schemes: NotRequired[list[str]]
    orders: NotRequired[str | None]
    content_schemes: NotRequired[list[ContentSchemesEnum]]
    include_empty: NotRequired[bool]
    mapping: NotRequired[str | None]
    measure: NotRequired[MeasureEnum]
    convention: NotRequired[ConventionEnum]
    by: NotRequired[ByEnum]
    bootstrap: NotRequired[int]
    seed: NotRequired[int]


class Calibration(TypedDict):
    number: int
    reason: NotRequired[str]
    created_at: NotRequired[str]


class Campaign(TypedDict):
    name: str
    title: str
    kind: str
    state: NotRequired[CampaignState]
    instructions: NotRequired[str]
    settings: Any
    choices: list[dict[str, Any]]
    dataset: str | None
    policy: dict[str, Any] | None
    policy_version: int | None
    nightly_audit: NotRequired[int]
    deadline: NotRequired[str | None]
    created_at: NotRequired[str]
    opened_at: NotRequired[str | None]
    closed_at: NotRequired[str | None]

CampaignState = Literal["draft", "open", "paused", "closed"]


class CaseThree(TypedDict):
    first: str
    second: str
    image: str
    rank: int
    first_label: str
    second_label: str
    true_label: str
    first_distance: float | None
    second_distance: float | None
    mean_distance: float | None


class Changed(TypedDict):
    changed: int


class ChosenRadius(TypedDict):
    part: str
    instance: NotRequired[str]
    radius: float | None
    method: NotRequired[str]


class ClassGallery(TypedDict):
    images: list[ClassImage]
    references: list[ClassImage]
    reference_count: int


class ClassImage(TypedDict):
    name: str
    image_id: int | None
    right: bool | None
    classifiers: list[str]


class ClassMean(TypedDict):
    mean: float | None
    n: int
    edges: list[float]
    counts: list[int]


class ClassSpread(TypedDict):
    total: int
    least: int
    median: float
    most: int

ContentSchemesEnum = Literal["intra-object", "intra-object-and-neighbourhood", "low", "higher"]

ConventionEnum = Literal["clean", "wnsim"]


class Cost(TypedDict):
    questions: int
    answers: int
    hours: float
    cost: float


class Count(TypedDict):
    count: int


class Coverage(TypedDict):
    language: str
    given: int
    missing: list[str]


class Dataset(TypedDict):
    name: str
    description: NotRequired[str]
    owner: str
    created_at: NotRequired[str]


class Decision(TypedDict):
    id: int
    kind: DecisionKindEnum
    actor: NotRequired[str | None]
    actor_name: str | None
    content: Any
    reason: NotRequired[str]
    at: NotRequired[str]

DecisionKindEnum = Literal["state", "policy", "member", "gold", "review", "drop", "block", "unblock", "stage", "graph", "audit", "quota", "vocabulary", "class"]


class Dependents(TypedDict):
    goes: list[str]
    prevents: list[str]

DistanceEnum = Literal["weighted", "weighted-undirected", "hops", "hops-undirected", "zero-one"]


class Duplicate(TypedDict):
    file: str
    same_as: str


class Error(TypedDict):
    field: str | None
    message: str
    cure: str


class ErrorShare(TypedDict):
    audited: int
    wrong: int
    error: float | None
    interval: list[float]


class Estimate(TypedDict):
    questions: int
    answers: int
    hours: float
    cost: float
    currency: str
    low: Cost
    high: Cost

EveryEnum = Literal["night", "week", "manual"]


class Example(TypedDict):
    id: int
    image: str
    answer: str
    caption: NotRequired[str]


class FailureTag(TypedDict):
    id: int
    image: str
    classifier: str
    tag: str
    by: str
    tagged_at: NotRequired[str]


class FailureTagCount(TypedDict):
    classifier: str
    tag: str
    images: int
    tagged: int
    wrong: int
    share: float | None
    low: float | None
    high: float | None

FitEnum = Literal["crop", "squash", "pad"]


class Flag(TypedDict):
    id: NotRequired[str]
    image: str
    topic: str
    pseudonym: str
    note: str
    created_at: NotRequired[str]
    reply: NotRequired[str]
    replied_at: NotRequired[str | None]


class FlaggedObject(TypedDict):
    image: str
    object: str
    item: int
    part: NotRequired[str]


class GivenAnswer(TypedDict):
    id: str
    annotator: str
    annotator_name: str
    value: Any
    revision: int
    seconds: float | None
    late: bool
    counted: bool
    replaced: bool
    created_at: str


class Gold(TypedDict):
    question: int
    image: str
    topic: str
    answer: Any
    explanation: NotRequired[str]
    source: NotRequired[str]
    at_random: bool
    retired_at: NotRequired[str | None]


class GoldBody(TypedDict):
    explanation: NotRequired[str]
    image: str
    topic: str
    object: NotRequired[str]
    answer: Any
    source: NotRequired[str]


class Graph(TypedDict):
    version: int
    sha256: str
    created_at: NotRequired[str]
    graph: Any


class HeldRole(TypedDict):
    campaign: str
    role: NotRequired[RoleEnum]
    answered: NotRequired[int]
    joined_at: NotRequired[str]


class Histogram(TypedDict):
    n: int
    count: int


class History(TypedDict):
    answers: list[GivenAnswer]
    settlements: list[Settlement]
    decisions: list[Decision]


class Image(TypedDict):
    id: int
    name: str
    sha256: str
    media_type: str
    bytes: int
    width: int
    height: int
    licence: NotRequired[str]
    source: NotRequired[str]
    queries: list[list[str]]
    added_at: NotRequired[str]


class ImageAnswer(TypedDict):
    person: str
    answer: str
    answered_at: str
    late: bool
    counted: bool
    void: bool
    replaced: bool


class ImageFacts(TypedDict):
    id: int
    name: str
    sha256: str
    media_type: str
    bytes: int
    width: int
    height: int
    licence: NotRequired[str]
    source: NotRequired[str]
    queries: list[list[str]]
    added_at: NotRequired[str]
    labels: NotRequired[list[ImageLabel]]
    more_labels: NotRequired[bool]
    known: NotRequired[list[KnownLabel]]
    objects: NotRequired[list[ImageObject]]
    uses: NotRequired[list[ImageUse]]


class ImageLabel(TypedDict):
    campaign: str
    question: int
    topic: str
    topic_name: str
    state: str
    label: str
    probability: float | None
    answers: list[ImageAnswer]
    settlements: list[ImageSettlement]


class ImageObject(TypedDict):
    id: int
    name: str
    box: list[float]


class ImagePage(TypedDict):
    next: int | None
    seen_to: str
    results: list[Image]


class ImageSettlement(TypedDict):
    label: str
    answers: list[str]
    reviewed: bool
    settled_at: str


class ImageUse(TypedDict):
    title: str
    page: str
    words: str


class Import(TypedDict):
    id: int
    name: str
    licence: NotRequired[str]
    source: NotRequired[str]
    state: JobState
    error: str
    progress_done: int
    progress_total: int
    added: NotRequired[int]
    duplicates: NotRequired[int]
    refused: NotRequired[int]
    created_by: str
    created_by_name: str
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]


class ImportReport(TypedDict):
    id: int
    name: str
    licence: NotRequired[str]
    source: NotRequired[str]
    state: JobState
    error: str
    progress_done: int
    progress_total: int
    added: NotRequired[int]
    duplicates: NotRequired[int]
    refused: NotRequired[int]
    created_by: str
    created_by_name: str
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]
    report: Report

InputMethodEnum = Literal["key", "tap", "swipe", "done"]


class Invitation(TypedDict):
    id: int
    role: NotRequired[RoleEnum]
    note: NotRequired[str]
    max_uses: NotRequired[int]
    uses: NotRequired[int]
    created_at: NotRequired[str]
    expires_at: str
    revoked_at: NotRequired[str | None]


class InvitationSecret(TypedDict):
    id: int
    role: NotRequired[RoleEnum]
    note: NotRequired[str]
    max_uses: NotRequired[int]
    uses: NotRequired[int]
    created_at: NotRequired[str]
    expires_at: str
    revoked_at: NotRequired[str | None]
    secret: str


class Job(TypedDict):
    id: int
    kind: str
    state: NotRequired[JobState]
    attempts: NotRequired[int]
    error: NotRequired[str]
    progress_done: NotRequired[int]
    progress_total: NotRequired[int]
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]

JobState = Literal["queued", "running", "done", "failed"]


class Joined(TypedDict):
    joined: list[str]
    missing_frames: NotRequired[dict[str, int]]


class Kept(TypedDict):
    state: str
    count: int
    why: str


class KnownLabel(TypedDict):
    key: str
    value: str
    source: str


class KnownLabels(TypedDict):
    sources: list[Source]


class LabelImport(TypedDict):
    id: int
    kind: str
    state: NotRequired[JobState]
    attempts: NotRequired[int]
    error: NotRequired[str]
    progress_done: NotRequired[int]
    progress_total: NotRequired[int]
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]
    file: str
    result: BroughtIn | None

LanguageEnum = Literal["en-gb", "de", "zh-hans"]


class LeftOut(TypedDict):
    why: str
    images: int


class Me(TypedDict):
    username: str
    pseudonym: str
    is_researcher: bool
    is_staff: bool
    may_open_campaigns: bool
    memberships: list[HeldRole]


class Mean(TypedDict):
    value: float | None
    interval: list[float] | None
    n: int

MeasureEnum = Literal["wup", "path", "lin", "vector", "vector_pairs"]


class Member(TypedDict):
    id: int
    pseudonym: str
    name: str
    role: NotRequired[RoleEnum]
    joined_at: NotRequired[str]
    left_at: NotRequired[str | None]
    stage: NotRequired[StageEnum]
    answered: NotRequired[int]
    seconds_per_answer: float | None
    last_answered_at: NotRequired[str | None]
    standing: Standing | None


class MemberReason(TypedDict):
    reason: str


class Merge(TypedDict):
    instance: str
    pieces: list[list[list[list[list[float]]]]]
    names: list[str]
    radius: float | None
    cap: float | None
    holes: bool
    apart: bool
    chosen: bool
    method: str


class MistakeReview(TypedDict):
    id: int
    campaign: str
    meta: Any
    version: int | None
    release: NotRequired[int | None]
    sha256: NotRequired[str]
    result: Any
    created_at: NotRequired[str]
    applied_at: NotRequired[str | None]


class ModelRun(TypedDict):
    id: int
    model: str
    pool: NotRequired[int | None]
    method: NotRequired[str]
    state: JobState
    error: NotRequired[str]
    seen_at: NotRequired[str | None]
    exit_code: NotRequired[int | None]
    last_line: NotRequired[str]
    result: Any
    created_at: NotRequired[str]


class Naming(TypedDict):
    campaign: str
    state: str


class NearDuplicate(TypedDict):
    file: str
    looks_like: str
    of: str
    distance: int


class Network(TypedDict):
    name: str
    sha256: str
    images: int
    embedded: int
    fits: int
    bytes: int
    budget: int


class NewAudit(TypedDict):
    n: int
    seed: NotRequired[int]


class NewBenchmark(TypedDict):
    selection: str
    dataset: str
    policy: NotRequired[Any]
    name: str
    title: str
    instructions: NotRequired[str]
    vocabulary: NotRequired[list[str]]


class NewBlock(TypedDict):
    reason: str
    member: int


class NewCDSBenchmark(TypedDict):
    pinned: NotRequired[bool]
    every: NotRequired[EveryEnum]
    min_images: NotRequired[int]
    campaign: str
    release: NotRequired[int]
    part_schemes: NotRequired[list[str]]
    orders: NotRequired[str | None]
    content_schemes: NotRequired[list[ContentSchemesEnum]]
    include_empty: NotRequired[bool]
    mapping: NotRequired[str | None]
    measure: NotRequired[MeasureEnum]
    convention: NotRequired[ConventionEnum]
    by: NotRequired[ByEnum]
    bootstrap: NotRequired[int]
    seed: NotRequired[int]
    name: str
    title: str


class NewCampaign(TypedDict):
    title: str
    instructions: NotRequired[str]
    name: str
    kind: NewCampaignKindEnum
    dataset: str
    settings: NotRequired[dict[str, Any]]
    policy: NotRequired[dict[str, Any]]

NewCampaignKindEnum = Literal["boxes", "candidates", "contains", "hierarchy", "mistake", "naming", "parts"]


class NewDataset(TypedDict):
    name: str
    description: NotRequired[str]


class NewExample(TypedDict):
    image: str
    answer: AnswerEnum
    caption: NotRequired[str]


class NewFlag(TypedDict):
    id: str
    note: str


class NewGold(TypedDict):
    gold: list[GoldBody]
    replace: NotRequired[bool]


class NewGraph(TypedDict):
    graph: dict[str, Any]
    reason: NotRequired[str]
    version: NotRequired[int | None]


class NewImages(TypedDict):
    licence: NotRequired[str]
    source: NotRequired[str]
    near: NotRequired[bool]
    files: NotRequired[list[str]]
    names: NotRequired[list[str]]
    zip: NotRequired[str | None]
    path: NotRequired[str]
    against: NotRequired[list[str]]


class NewInvitation(TypedDict):
    role: NotRequired[RoleEnum]
    days: NotRequired[int]
    max_uses: NotRequired[int]
    note: NotRequired[str]


class NewLabels(TypedDict):
    file: str
    format: NotRequired[NewLabelsFormatEnum]
    source: NotRequired[str]
    repair: NotRequired[bool]
    campaign: NotRequired[str]

NewLabelsFormatEnum = Literal["csv", "label-studio", "jsonl", "coco", "voc"]


class NewMistakeReview(TypedDict):
    name: str
    title: str
    models: NotRequired[list[str]]
    agreements: NotRequired[float]
    seed: NotRequired[int]
    policy: NotRequired[dict[str, Any]]


class NewModel(TypedDict):
    name: str
    file: str
    classes: str
    size: NotRequired[str]
    mean: NotRequired[str]
    std: NotRequired[str]
    fit: NotRequired[FitEnum]


class NewModelRun(TypedDict):
    model: str
    pool: NotRequired[int]
    method: NotRequired[str]


class NewName(TypedDict):
    name: str


class NewParts(TypedDict):
    file: str
    format: NotRequired[NewPartsFormatEnum]
    source: NotRequired[str]
    repair: NotRequired[bool]
    cap: NotRequired[float]

NewPartsFormatEnum = Literal["coco", "pascal-part", "png", "label-studio", "csv"]


class NewPilot(TypedDict):
    per_topic: int
    seed: NotRequired[int]


class NewPolicy(TypedDict):
    content: dict[str, Any]
    confirmed: NotRequired[bool]


class NewPool(TypedDict):
    models: list[str]


class NewQuestions(TypedDict):
    questions: list[AskedPair]


class NewReleased(TypedDict):
    pinned: NotRequired[bool]
    every: NotRequired[EveryEnum]
    min_images: NotRequired[int]
    campaign: str
    release: NotRequired[int]
    kind: ReleasedKind
    part: NotRequired[str]
    name: str
    title: str
    split: NotRequired[SplitEnum]
    confidence: NotRequired[float]
    seed: NotRequired[int]
    inclusive: NotRequired[bool]
    strict: NotRequired[bool]
    protocol: NotRequired[ProtocolEnum]
    normalize: NotRequired[NormalizeEnum]
    size: NotRequired[int]
    thresholds: NotRequired[int]


class NewSelection(TypedDict):
    top_k: NotRequired[int]
    min_confidence: NotRequired[float]
    max_per_label: NotRequired[int]
    reserve: NotRequired[int]
    unique_pairs: NotRequired[bool]
    distance: NotRequired[DistanceEnum]
    distances: NotRequired[str | None]
    classifiers: NotRequired[list[str]]


class NewSplit(TypedDict):
    by: NotRequired[str]
    names: NotRequired[str]
    seed: NotRequired[int]
    seal: NotRequired[bool]
    extend: NotRequired[int]


class NewSubmission(TypedDict):
    file: NotRequired[str | None]
    campaign: NotRequired[str]
    number: NotRequired[int]
    name: NotRequired[str]


class NewTags(TypedDict):
    image: str
    classifier: str
    tags: list[str]


class NewTexts(TypedDict):
    texts: dict[str, Any]


class NewToken(TypedDict):
    scope: NotRequired[ScopeEnum]
    days: NotRequired[int]
    name: NotRequired[str]


class NewTopics(TypedDict):
    topics: list[TopicBody]


class NewVocabulary(TypedDict):
    vocabulary: dict[str, Any]
    version: NotRequired[int | None]


class NewWindows(TypedDict):
    windows: str


class NextSeats(TypedDict):
    size: NotRequired[int]
    known: NotRequired[list[str]]

NormalizeEnum = Literal["min-max", "max", "none"]


class Object(TypedDict):
    id: int
    image: str
    name: str
    category: str
    source: str
    box: list[float]
    crop: list[int]
    room: bool
    outline: list[list[list[list[float]]]] | None
    parts: list[Part]


class Objects(TypedDict):
    categories: NotRequired[list[str]]
    images: NotRequired[list[str]]


class OpenImages(TypedDict):
    images: NotRequired[list[str]]


class Opened(TypedDict):
    opened: int | None


class PaginatedAnswerRowList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AnswerRow]


class PaginatedBenchmarkList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Benchmark]


class PaginatedCalibrationList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Calibration]


class PaginatedCampaignList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Campaign]


class PaginatedDatasetList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Dataset]


class PaginatedDecisionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Decision]


class PaginatedExampleList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Example]


class PaginatedFailureTagList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[FailureTag]


class PaginatedFlagList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Flag]


class PaginatedGoldList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Gold]


class PaginatedImageList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Image]


class PaginatedImportList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Import]


class PaginatedInvitationList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Invitation]


class PaginatedJobList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Job]


class PaginatedKnownLabelsList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[KnownLabels]


class PaginatedMemberList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Member]


class PaginatedMistakeReviewList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[MistakeReview]


class PaginatedModelRunList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ModelRun]


class PaginatedObjectList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Object]


class PaginatedPartImportList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PartImport]


class PaginatedPolicyList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Policy]


class PaginatedPoolList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Pool]


class PaginatedPoolSelectionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PoolSelection]


class PaginatedQuestionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Question]


class PaginatedRegisteredModelList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RegisteredModel]


class PaginatedReleaseList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Release]


class PaginatedReleaseSplitList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ReleaseSplit]


class PaginatedReleasedSubmissionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ReleasedSubmission]


class PaginatedRunList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Run]


class PaginatedSelectionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Selection]


class PaginatedSubmissionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Submission]


class PaginatedTokenList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Token]


class PaginatedTombstoneList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Tombstone]


class PaginatedTopicList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Topic]


class PaginatedTruthVersionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TruthVersion]


class PaginatedVerificationList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Verification]


class PaginatedVersionList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Version]


class PaginatedWatchedList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[Watched]


class PairCount(TypedDict):
    pair: list[str]
    images: int


class PairOverlap(TypedDict):
    pair: list[str]
    first: int
    second: int
    both: int


class Part(TypedDict):
    key: str
    state: PartStateEnum
    polygons: list[list[list[list[float]]]]
    names: list[str]
    merges: list[Merge]


class PartImport(TypedDict):
    id: int
    kind: str
    state: NotRequired[JobState]
    attempts: NotRequired[int]
    error: NotRequired[str]
    progress_done: NotRequired[int]
    progress_total: NotRequired[int]
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]
    file: str
    report: PartReport


class PartReport(TypedDict):
    vocabulary: int
    read: int
    objects: int
    parts: int
    new: int
    changed: int
    merged: int
    refused_count: int
    apart: list[FlaggedObject]
    apart_count: int
    no_room: list[FlaggedObject]
    no_room_count: int
    unknown: list[UnknownName]
    mended: list[str]
    mended_count: int
    skipped: list[Skipped]
    refused: list[RefusedObject]

PartStateEnum = Literal["drawn", "not_visible", "occluded"]


class PartialUpload(TypedDict):
    id: str
    name: str
    size: int
    offset: int


class PatchedChangedCampaign(TypedDict):
    title: NotRequired[str]
    instructions: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    nightly_audit: NotRequired[int]
    deadline: NotRequired[str | None]


class PatchedChangedTopic(TypedDict):
    name: NotRequired[str]
    definition: NotRequired[str]
    url: NotRequired[str]
    guidance: NotRequired[str]
    synonyms: NotRequired[list[str]]
    siblings: NotRequired[list[Sibling]]


class PatchedFollowingChangeRequest(TypedDict):
    pinned: NotRequired[bool]
    every: NotRequired[EveryEnum]
    min_images: NotRequired[int]


class PatchedRole(TypedDict):
    role: NotRequired[RoleEnum]


class PilotPlan(TypedDict):
    questions: int
    answers: int
    hours: float
    cost: float
    currency: str


class PilotState(TypedDict):
    decided: int
    topics: int
    tables: int
    missing: list[str]
    missing_count: int
    asked: int


class Plan(TypedDict):
    classifiers: list[str]
    pairs: int
    images: int
    questions: int
    wnids: int
    estimate: Estimate
    missing: list[str]
    missing_reserve: list[str]


class PlanRequest(TypedDict):
    selection: str
    dataset: str
    policy: NotRequired[Any]


class Policy(TypedDict):
    version: int
    content: dict[str, Any]
    created_at: NotRequired[str]


class Pool(TypedDict):
    id: int
    models: list[str]
    state: JobState
    error: NotRequired[str]
    seen_at: NotRequired[str | None]
    exit_code: NotRequired[int | None]
    last_line: NotRequired[str]
    result: Any
    created_at: NotRequired[str]


class PoolSelection(TypedDict):
    id: int
    settings: dict[str, Any]
    state: JobState
    error: NotRequired[str]
    seen_at: NotRequired[str | None]
    exit_code: NotRequired[int | None]
    last_line: NotRequired[str]
    summary: Any
    created_at: NotRequired[str]


class PredictedClass(TypedDict):
    key: str
    name: str


class PredictionsUpload(TypedDict):
    predictions: str


class Price(TypedDict):
    price: float | None
    false_cost: float
    finished: NotRequired[int | None]
    scenes: int
    error: NotRequired[float | None]
    curve: list[PricePoint]
    algorithm_1: PricePoint | None


class PricePoint(TypedDict):
    price: float
    questions: float
    missed: float
    false: float


class Problem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[Error]


class Progress(TypedDict):
    questions: int
    by_state: dict[str, int]
    finished: int
    share: float | None
    answers: int
    answers_left: int
    hours: float
    cost: float
    cost_left: float
    currency: str
    minutes_left: float | None
    questions_range: list[int]
    answers_left_range: list[int]
    cost_left_range: list[float]


class ProposalFigures(TypedDict):
    network: Network | None
    seats: int
    with_model: Arm
    without_model: Arm
    time_ratio: float | None
    iou_difference: float | None
    asked: int
    taken: int
    mended: int
    refused: int
    bad_proposals: Share

ProtocolEnum = Literal["paper", "reference"]


class Quality(TypedDict):
    decided: int
    sampled: int
    alpha: float | None
    votes: float | None
    histogram: list[Histogram]
    abstained: float | None
    disputed: list[int]


class Question(TypedDict):
    id: int
    image: str
    topic: str
    state: NotRequired[QuestionState]
    seats_free: NotRequired[int]
    value: Any
    probability: float | None
    error: float | None
    votes: int | None
    interval: list[float] | None
    step: NotRequired[str]


class QuestionKeys(TypedDict):
    questions: list[int]

QuestionState = Literal["open", "settled", "dropped", "review", "withdrawn", "gold"]


class Quota(TypedDict):
    topic: str
    images: int
    done: int


class Quotas(TypedDict):
    quotas: list[Quota]
    reason: NotRequired[str]


class RandomGold(TypedDict):
    n: int
    seed: NotRequired[int]


class Reason(TypedDict):
    reason: NotRequired[str]


class RefusedFile(TypedDict):
    file: str
    why: str


class RefusedObject(TypedDict):
    place: str
    why: str


class RegisteredModel(TypedDict):
    name: str
    classes: int
    sha256: NotRequired[str]
    is_uploaded: bool
    state: NotRequired[JobState]
    error: NotRequired[str]
    registered_at: NotRequired[str]


class Release(TypedDict):
    number: int
    sha256: str
    counts: dict[str, Any]
    stated_error: dict[str, Any] | None
    created_at: NotRequired[str]
    files: list[str]


class ReleaseReport(TypedDict):
    campaign: str
    title: str
    number: int
    sha256: str
    kind: str
    counts: dict[str, Any]
    positive: ClassSpread
    negative: ClassSpread
    instances: ClassSpread
    means: dict[str, ClassMean]
    classes: list[ReportedClass]
    agreement: VoteAgreement
    stated_error: dict[str, Any] | None
    stated_boxes: dict[str, Any] | None
    people: list[VotesOfPerson]
    conventions: dict[str, str]


class ReleaseSplit(TypedDict):
    id: int
    method: str
    names: list[str]
    seed: int
    sealed: str | None
    extends: NotRequired[int | None]
    state: JobState
    error: NotRequired[str]
    sha256: NotRequired[str]
    counts: NotRequired[Any]
    notes: NotRequired[list[str]]
    created_at: NotRequired[str]

ReleasedKind = Literal["classification", "localization", "detection", "wsol"]


class ReleasedPlan(TypedDict):
    release: int
    kind: ReleasedKind
    truth: Truth


class ReleasedRequest(TypedDict):
    campaign: str
    release: NotRequired[int]
    kind: ReleasedKind
    part: NotRequired[str]


class ReleasedSubmission(TypedDict):
    name: str
    position: int
    accuracy: NotRequired[float | None]
    sha256: NotRequired[str]
    attempts: NotRequired[int]
    is_people: NotRequired[bool]
    missing_frames: NotRequired[int]
    created_at: NotRequired[str]


class Reliability(TypedDict):
    bins: list[Bin]
    error: float
    n: int


class Removal(TypedDict):
    typed: str


class Removed(TypedDict):
    published: list[str]


class Rename(TypedDict):
    title: NotRequired[str]
    name: str


class Reply(TypedDict):
    reply: str


class Report(TypedDict):
    added: int
    duplicates: list[Duplicate]
    refused: list[RefusedFile]
    near_duplicates: list[NearDuplicate]


class ReportedClass(TypedDict):
    wnid: str
    name: str
    yes: int
    no: int
    unknown: int
    images: int
    instances: int
    instances_per_image: float | None
    scale: float | None
    cpl: float | None
    neighbours_per_instance: float | None
    clutter: float | None
    clutter_images: int


class Reports(TypedDict):
    release: ReleaseReport | None
    other: ReleaseReport | None
    state: str
    error: str


class Result(TypedDict):
    id: str
    status: StatusEnum
    code: str
    message: str
    revision: int | None


class Results(TypedDict):
    results: list[Result]

RoleEnum = Literal["researcher", "reviewer", "annotator"]


class Root(TypedDict):
    me: str
    datasets: str
    campaigns: str
    benchmarks: str
    models: str
    tokens: str
    schema: str
    docs: str


class Run(TypedDict):
    id: int
    state: NotRequired[JobState]
    release: NotRequired[int | None]
    error: NotRequired[str]
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]


class RunResult(TypedDict):
    id: int
    state: NotRequired[JobState]
    release: NotRequired[int | None]
    error: NotRequired[str]
    created_at: NotRequired[str]
    finished_at: NotRequired[str | None]
    result: Any

ScopeEnum = Literal["read", "write"]


class Seat(TypedDict):
    seat: str
    topic: str
    image: str
    shows: NotRequired[Any]


class Seats(TypedDict):
    seats: list[Seat]
    topics: dict[str, Any]
    left: int


class Secret(TypedDict):
    secret: str


class SelectedCompetition(TypedDict):
    policy: NotRequired[Any]
    name: str
    title: str
    instructions: NotRequired[str]
    vocabulary: NotRequired[list[str]]


class Selection(TypedDict):
    id: int
    first: str
    second: str
    rank: int
    image: str
    first_label: str
    second_label: str
    first_confidence: float
    second_confidence: float
    distance: float
    state: SelectionState


class SelectionOverlap(TypedDict):
    images_first: int
    images_second: int
    images_both: int
    lines_first: int
    lines_second: int
    lines_both: int
    pairs: list[PairOverlap]


class SelectionPlan(TypedDict):
    classifiers: list[str]
    pairs: int
    images_per_pair: int
    short: list[PairCount]
    images: int
    questions: int
    estimate: Estimate

SelectionState = Literal["chosen", "reserve", "dropped"]


class SelectionUpload(TypedDict):
    selection: str


class SendBack(TypedDict):
    note: str
    seen: NotRequired[int | None]
    answers: NotRequired[list[str] | None]


class SentBack(TypedDict):
    answer: str
    note: str
    created_at: str


class Settlement(TypedDict):
    question: int
    value: Any
    probability: float | None
    created_at: str


class Share(TypedDict):
    count: int
    of: int
    value: float | None
    interval: list[float] | None


class Sibling(TypedDict):
    name: str
    definition: NotRequired[str]


class Skipped(TypedDict):
    what: str
    count: int
    why: str
    first: str


class Source(TypedDict):
    source: str
    labels: int
    images: int
    yes: int
    no: int

SplitEnum = Literal["train-fullsup", "test"]

StageEnum = Literal["training", "test", "failed", "working", "paused", "blocked"]


class Standing(TypedDict):
    right: int
    total: int
    accuracy: float | None
    interval: list[float]


class StatedError(TypedDict):
    value: float | None
    interval: list[float] | None
    basis: str | None
    range: list[float] | None

StatusEnum = Literal["accepted", "refused"]


class Stopped(TypedDict):
    pseudonym: str
    action: str
    reason: str
    member: int


class Submission(TypedDict):
    name: str
    position: int
    accuracy: NotRequired[float | None]
    sha256: NotRequired[str]
    attempts: NotRequired[int]
    is_people: NotRequired[bool]
    missing_frames: NotRequired[int]
    created_at: NotRequired[str]


class SubmissionUpload(TypedDict):
    file: NotRequired[str | None]
    campaign: NotRequired[str]
    number: NotRequired[int]
    annotator: NotRequired[str]
    baseline: NotRequired[bool]


class TagVocabulary(TypedDict):
    vocabulary: list[str]


class Texts(TypedDict):
    texts: dict[str, Any]
    coverage: list[Coverage]


class Token(TypedDict):
    key: str
    name: NotRequired[str]
    scope: NotRequired[ScopeEnum]
    created_at: str
    expires_at: str


class TokenSecret(TypedDict):
    key: str
    name: NotRequired[str]
    scope: NotRequired[ScopeEnum]
    created_at: str
    expires_at: str
    secret: str


class Tombstone(TypedDict):
    content: str
    pixels: NotRequired[str]
    created_at: NotRequired[str]


class Topic(TypedDict):
    key: str
    name: str
    synonyms: list[str]
    definition: NotRequired[str]
    url: NotRequired[str]
    guidance: NotRequired[str]
    siblings: list[Sibling]


class TopicBody(TypedDict):
    definition: NotRequired[str]
    url: NotRequired[str]
    key: str
    name: NotRequired[str]
    synonyms: NotRequired[list[str]]
    siblings: NotRequired[list[Sibling]]


class TrueLabels(TypedDict):
    selections: list[int]


class Truth(TypedDict):
    images: int
    classes: int
    objects: int
    masks: bool
    left_out: list[LeftOut]
    notes: list[str]


class TruthVersion(TypedDict):
    version: int
    release: int
    sha256: str
    made_at: NotRequired[str]
    added: NotRequired[int]
    removed: NotRequired[int]
    changed: NotRequired[int]
    reviews: list[str]
    report: dict[str, list[str]]


class UnknownName(TypedDict):
    category: str
    part: str
    count: int


class UploadedPool(TypedDict):
    file: NotRequired[str | None]
    address: NotRequired[str]


class Verdict(TypedDict):
    seen: NotRequired[int | None]
    reason: NotRequired[str]
    value: Any


class Verification(TypedDict):
    key: str
    name: str
    state: NotRequired[VerificationStateEnum]
    reason: str
    waived: str
    candidates: NotRequired[int]
    asked: NotRequired[int]
    open: NotRequired[int]
    yes: NotRequired[int]
    no: NotRequired[int]
    by_table: float | None
    precision: float | None
    low: float | None
    high: float | None
    audited: NotRequired[int]
    wrong: NotRequired[int]
    has_table: NotRequired[bool]
    answers: NotRequired[int]
    cost: NotRequired[float]
    looked_at: NotRequired[str | None]

VerificationStateEnum = Literal["asking", "stopped"]


class Version(TypedDict):
    version: int
    sha256: str
    created_at: NotRequired[str]
    created_by: NotRequired[str]
    created_by_name: NotRequired[str]


class Vocabulary(TypedDict):
    version: int
    sha256: str
    created_at: NotRequired[str]
    created_by: NotRequired[str]
    created_by_name: NotRequired[str]
    vocabulary: Any


class VoteAgreement(TypedDict):
    measure: str
    value: float | None
    share: float | None
    n: int
    convention: str


class VotesOfPerson(TypedDict):
    name: str
    votes: int


class Watched(TypedDict):
    member: int
    pseudonym: str
    name: str
    role: NotRequired[RoleEnum]
    stage: NotRequired[StageEnum]
    working_since: NotRequired[str]
    attempts: NotRequired[int]
    gold_share: NotRequired[float | None]
    answered: NotRequired[int]
    standing: Any


class WholeCalibration(TypedDict):
    number: int
    reason: NotRequired[str]
    created_at: NotRequired[str]
    content: Any


class Windows(TypedDict):
    windows: str


class Withdrawal(TypedDict):
    questions: list[int]
    reason: str


class Withdrawn(TypedDict):
    count: int
    kept: list[Kept]
