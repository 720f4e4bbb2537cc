package sim_test

import (
	"context"
	"fmt"

	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

func Example() {
	adapter := sim.New()
	encoded, err := adapter.Encode(model.Request{
		Model: "sim/script",
		Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{
			{Kind: model.PartText, Text: `[[{"text":"Hello from a script."}]]`},
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for chunk, err := range adapter.Stream(context.Background(), encoded) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(chunk.Text)
	}
	// Output: Hello from a script.
}
