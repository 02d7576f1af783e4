"""The part of the configuration on the machines that a study is planned for."""

from pydantic import Field

from homogenization.run.sections import Section


class Hardware(Section):
    """Rates that `snakemake plan` assumes. Nothing else depends on them."""

    gpu_tflops: float = Field(100.0, gt=0)
    """10¹² operations per second that forward passes reach on one GPU. 100 is about a third of the bfloat16 peak of \
an A100 (312); expect 40 to 70 of a GPU of 24 GiB (A10, L4, RTX 4090), and less in float32. As with all keys of \
`hardware`, nothing reruns but the plan."""
    gpu_float64_tflops: float = Field(10.0, gt=0)
    """The same in float64, in which components and slopes are computed: expect 10 to 15 of an A100, 40 of an H100, \
and of an A10, L4 or RTX 4090, which have few such units, 0.4, 0.4 and 1."""
    cpu_tflops: float = Field(0.05, gt=0)
    """The same on the CPU, with the threads of one job."""
    cores: int = Field(16, ge=1)
    """Cores beside the GPU, on which states are measured."""
    core_gflops: float = Field(30.0, gt=0)
    """10⁹ operations per second of float64 products of matrices on one core."""
    read_gb_per_second: float = Field(2.0, gt=0)
    """Rate at which weights are read: a local NVMe disk or an idle parallel file system."""
    write_gb_per_second: float = Field(2.0, gt=0)
    """Rate at which states are written, in bytes on the disk."""
    startup_seconds: float = Field(10.0, ge=0)
    """Time that a job with a model takes beside all this: imports, CUDA, tokens, the check."""
    writer_steps_per_second: float = Field(20.0, gt=0)
    """Steps of a writer in a second; a step adds a token to each text of a batch."""
    endpoint_tokens_per_second: float = Field(2500.0, gt=0)
    """Tokens of answers in a second from an endpoint. vLLM with a model of 7 billion parameters in bfloat16 is \
reported with about 2,500 on an A100 and 5,000 or more on an H100, with a hundred requests at a time \
(`writers.NAME.connections`)."""
    writer_refused: float = Field(0.5, ge=0, lt=1)
    """Share of a writer's answers that are refused and asked for again, up to `rewriting.candidates`; yours is in \
`rewriting.csv`."""
