"""The part of the configuration on the machines that a study is planned for."""

from pydantic import Field

from homogenization.run.sections import Section


class Hardware(Section):
    """Rates that `snakemake plan` assumes. Nothing else depends on them."""

    gpu_tflops: float = Field(
        100.0,
        gt=0,
        description="10¹² operations per second that forward passes reach on one GPU. 100 is about a third of the "
        "bfloat16 peak of an A100 (312); expect 40 to 70 of a GPU of 24 GiB (A10, L4, RTX 4090), and less in float32. "
        "As with all keys of `hardware`, nothing reruns but the plan.",
    )
    cpu_tflops: float = Field(0.05, gt=0, description="The same on the CPU, with the threads of one job.")
    read_gb_per_second: float = Field(
        2.0, gt=0, description="Rate at which weights are read: a local NVMe disk or an idle parallel file system."
    )
    write_gb_per_second: float = Field(2.0, gt=0, description="Rate at which states are written, in bytes on the disk.")
    startup_seconds: float = Field(
        10.0, ge=0, description="Time that a job with a model takes beside all this: imports, CUDA, tokens, the check."
    )
    writer_steps_per_second: float = Field(
        20.0, gt=0, description="Steps of a writer in a second; a step adds a token to each text of a batch."
    )
