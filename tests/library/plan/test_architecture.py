"""What a configuration tells of a model, against the network itself."""

import pytest
import transformers

from described import ALL, LLAMA_3_8B, MINILM, described
from homogenization.models.weights import resolve_configuration
from homogenization.plan.architecture import describe_architecture
from homogenization.states.network import findings, transformer_of
from tiny_models import network


@pytest.mark.parametrize("name", ALL)
def test_an_architecture_is_described_as_it_is_found_to_be(name, tmp_path):
    made = network(ALL[name])
    architecture = described(ALL[name], tmp_path)
    assert architecture.name == type(made).__name__
    assert architecture.n_parameters == sum(tensor.numel() for tensor in made.state_dict().values())
    found = findings(transformer_of(made))
    assert (architecture.causal, architecture.final_norm) == (found.causal, found.final_norm)
    assert (architecture.n_blocks, architecture.width) == (3, 48)


def test_the_facts_of_real_weights():
    folder = resolve_configuration(MINILM)
    network = transformers.AutoModel.from_pretrained(folder)
    architecture = describe_architecture(folder)
    assert architecture.n_parameters == sum(tensor.numel() for tensor in network.state_dict().values())
    matrices = [tensor for name, tensor in network.encoder.state_dict().items() if tensor.ndim == 2]
    assert architecture.n_multiplied == sum(tensor.numel() for tensor in matrices)
    assert (architecture.widest, architecture.heads, architecture.head_width) == (1536, 12, 32)


# parameters of the published models; a head of hidden size x vocabulary does not run, and may be the embedding
@pytest.mark.parametrize(
    ("config", "parameters", "head"),
    [
        (
            LLAMA_3_8B,
            8_030_261_248,
            4096 * 128256,
        ),
        (transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16), 354_823_168, 0),
    ],
    ids=["Llama-3-8B", "gpt2-medium"],
)
def test_the_parameters_of_published_models(config, parameters, head, tmp_path):
    architecture = described(config, tmp_path)
    assert (architecture.n_parameters, architecture.n_head) == (parameters - head, head)
