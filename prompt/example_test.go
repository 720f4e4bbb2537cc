package prompt_test

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/prompt"
)

func Example() {
	trigger := parley.Message{
		Sequence: 1,
		Role:     parley.RoleUser,
		Status:   parley.MessageCompleted,
		Content:  json.RawMessage(`{"text":"Hello"}`),
	}
	session := parley.Session{Title: "Greetings", LastSequence: 1, Statistics: parley.Statistics{UserFacing: 1}}
	agent := parley.Agent{
		Name:     "Ada",
		Settings: parley.Settings{SystemPrompt: new("You are {{agent.name}}, in {{session.title}}.")},
	}

	settings, err := prompt.Resolve(agent, session, nil, trigger, "sim/echo")
	if err != nil {
		fmt.Println(err)
		return
	}
	record := func(int64, int) ([]parley.Message, bool, error) { return []parley.Message{trigger}, false, nil }
	selection, err := prompt.Window(prompt.View{Policy: settings.Policy, Session: session, Tail: record})
	if err != nil {
		fmt.Println(err)
		return
	}
	request, manifest, err := prompt.Build(settings, selection, nil, prompt.Tools{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request.System)
	fmt.Println(request.Messages[0].Role, request.Messages[0].Parts[0].Text)
	fmt.Println(manifest.Ranges)
	// Output:
	// You are Ada, in Greetings.
	// user Hello
	// [{1 1 [] auto false}]
}
