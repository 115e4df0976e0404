package corrupt

import (
	"fmt"
	"strconv"

	"touchstone/harness/refserver/internal/spec"
)

// vocabSwap is a vocabulary that does not belong to the weights: tokens have
// changed places, so the model is asked something else than the user wrote, and
// its answer is spelled with other words. Special tokens keep their places.
func vocabSwap() Fault {
	return Fault{
		Name:    "vocab-swap",
		Summary: "pairs of ordinary tokens of the vocabulary have changed places",
		Reports: []string{"vllm-project/vllm#14232"},
		Params: []spec.Param{
			spec.Count("pairs", `how many pairs, drawn at random; "all" leaves no ordinary token in its place, but for one of an odd number`, "all", 1, "all"),
			seedParam()},
		plan: planVocabSwap,
	}
}

// ordinary is the token type of llama.cpp (LLAMA_TOKEN_TYPE_NORMAL) that is
// neither unknown, control, user-defined, unused nor a byte.
const ordinary = 1

func planVocabSwap(j *job) error {
	const tokensKey, typesKey = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
	tokens, ok, err := j.f.Strings(tokensKey)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s has no %s: no vocabulary to change", j.f.Name(), tokensKey)
	}
	types, ok, err := j.f.Ints(typesKey)
	if err != nil {
		return err
	}
	if ok && len(types) != len(tokens) {
		return fmt.Errorf("%s has %d tokens and %d token types", j.f.Name(), len(tokens), len(types))
	}
	var ids []int
	for id := range tokens {
		if !ok || types[id] == ordinary {
			ids = append(ids, id)
		}
	}
	pairs := len(ids) / 2
	if v := j.values["pairs"]; v != "all" {
		n, _ := strconv.Atoi(v) // checked by Parse
		if n > pairs {
			return fmt.Errorf("pairs=%d, but %s has %d ordinary tokens, %d pairs", n, j.f.Name(), len(ids), pairs)
		}
		pairs = n
	}
	random, err := j.random(tokensKey)
	if err != nil {
		return err
	}
	random.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
	for p := range pairs {
		a, b := ids[2*p], ids[2*p+1]
		tokens[a], tokens[b] = tokens[b], tokens[a]
	}
	j.edit.SetStrings(tokensKey, tokens)
	return nil
}
