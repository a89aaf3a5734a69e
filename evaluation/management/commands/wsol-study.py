"""`manage.py wsol-study`: repeats the WSOL study of Choe et al. 2022 on images of one's choice."""

from evaluation.management import wsol_report, wsol_study
from labeling.management.contract import ContractCommand


class Command(ContractCommand):
    help = "The WSOL study: train methods, search hyperparameters, choose on train-fullsup, test."

    run = wsol_study.run_study
    report = wsol_report.report
