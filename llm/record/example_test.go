package record_test

import (
	"context"
	"fmt"
	"os"

	"example.org/parley/llm/record"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// An agent's test records once, with the provider, and plays the recording from then on.
func Example() {
	dir, err := os.MkdirTemp("", "recordings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	provider := sim.New() // in practice openai.New(…) with its key
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

func show(adapter model.Model, text string) {
	encoded, err := adapter.Encode(model.Request{Model: "sim/echo", Messages: []model.Message{
		{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: text}}},
	}})
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
	fmt.Println()
}
