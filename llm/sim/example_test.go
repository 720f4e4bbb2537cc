package sim_test

import (
	"context"
	"fmt"

	"parley"
	"parley/llm/sim"
)

func Example() {
	model := sim.New()
	encoded, err := model.Encode(parley.ModelRequest{
		Model: "sim/script",
		Messages: []parley.RequestMessage{{Role: parley.RequestUser, Parts: []parley.RequestPart{
			{Kind: parley.PartText, Text: `[[{"text":"Hello from a script."}]]`},
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for chunk, err := range model.Stream(context.Background(), encoded) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(chunk.Text)
	}
	// Output: Hello from a script.
}
