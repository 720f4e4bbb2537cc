package record_test

import (
	"context"
	"fmt"
	"os"

	"parley"
	"parley/llm/record"
	"parley/llm/sim"
)

// An agent's test records once, with the provider, and plays ever after.
func Example() {
	dir, err := os.MkdirTemp("", "recordings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	provider := sim.New() // in earnest openai.New(…) with its key
	recorder, err := record.New(provider, dir, record.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(recorder, "Hello.")

	player, err := record.Open(provider, dir, record.Options{}) // sends nothing
	if err != nil {
		fmt.Println(err)
		return
	}
	show(player, "Hello.")
	// Output:
	// Hello.
	// Hello.
}

func show(model parley.Model, text string) {
	encoded, err := model.Encode(parley.ModelRequest{Model: "sim/echo", Messages: []parley.RequestMessage{
		{Role: parley.RequestUser, Parts: []parley.RequestPart{{Kind: parley.PartText, Text: text}}},
	}})
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
	fmt.Println()
}
