from django.urls import path

from labeling.views import campaigns, datasets, gold, people, questions, tokens, work

app_name = "labeling"
C = "campaigns/<slug:name>/"
D = "datasets/<slug:name>/"

urlpatterns = [
    path("campaigns/", campaigns.campaign_list, name="campaigns"),
    path("campaigns/new/", campaigns.campaign_new, name="campaign_new"),
    path("campaigns/new/estimate/", campaigns.campaign_estimate, name="campaign_estimate"),
    path(C, campaigns.campaign, name="campaign"),
    path(C + "progress/", campaigns.campaign_progress, name="campaign_progress"),
    path(C + "state/", campaigns.campaign_state, name="campaign_state"),
    path(C + "close/", campaigns.campaign_close, name="campaign_close"),
    path(C + "edit/", campaigns.campaign_edit, name="campaign_edit"),
    path(C + "policy/", campaigns.campaign_policy, name="campaign_policy"),
    path(C + "questions/", questions.questions, name="questions"),
    path(C + "questions/add/", questions.questions_add, name="questions_add"),
    path(C + "questions/<int:pk>/", questions.question, name="question"),
    path(C + "questions/<int:pk>/image", questions.question_image, name="question_image"),
    path(
        C + "questions/<int:pk>/thumbnail",
        questions.question_thumbnail,
        name="question_thumbnail",
    ),
    path(C + "questions/<int:pk>/decide/", questions.question_decide, name="question_decide"),
    path(C + "questions/<int:pk>/withdraw/", questions.question_withdraw, name="question_withdraw"),
    path(C + "review/", questions.review, name="review"),
    path(C + "people/", people.people, name="people"),
    path(C + "people/<int:pk>/role/", people.member_role, name="member_role"),
    path(C + "people/<int:pk>/remove/", people.member_remove, name="member_remove"),
    path(C + "invitations/", people.invitation_new, name="invitation_new"),
    path(C + "invitations/<int:pk>/revoke/", people.invitation_revoke, name="invitation_revoke"),
    path(C + "gold/", gold.gold, name="gold"),
    path(C + "gold/add/", gold.gold_add, name="gold_add"),
    path(C + "gold/upload/", gold.gold_upload, name="gold_upload"),
    path(C + "gold/promote/", gold.gold_promote, name="gold_promote"),
    path(C + "gold/<int:pk>/retire/", gold.gold_retire, name="gold_retire"),
    path(C + "topics/", gold.topics, name="topics"),
    path(C + "topics/<int:pk>/", gold.topic, name="topic"),
    path(C + "topics/<int:pk>/examples/", gold.example_add, name="example_add"),
    path(C + "topics/<int:pk>/examples/remove/", gold.example_remove, name="example_remove"),
    path(C + "jobs/", work.jobs, name="jobs"),
    path(C + "jobs/<int:pk>/retry/", work.job_retry, name="job_retry"),
    path(C + "releases/", work.releases, name="releases"),
    path(C + "releases/freeze/", work.release_freeze, name="release_freeze"),
    path(C + "releases/<int:number>/download", work.release_download, name="release_download"),
    path("datasets/", datasets.datasets, name="datasets"),
    path("datasets/new/", datasets.dataset_new, name="dataset_new"),
    path(D, datasets.dataset, name="dataset"),
    path(D + "upload/", datasets.dataset_upload, name="dataset_upload"),
    path(D + "import/", datasets.dataset_import, name="dataset_import"),
    path(D + "images/<int:pk>/thumbnail", datasets.thumbnail, name="thumbnail"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<str:key>/revoke/", tokens.token_revoke, name="token_revoke"),
]
