package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/sqlite"
	"example.org/parley/tool/builtin"
)

// An agent is tried out without a trace: its tool answers from a script.
func ExampleConversation_DryRun() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	defer func() { check(store.Close()) }()
	home, err := conversation.Start(ctx, conversation.Options{Store: store, Models: models(), Tools: builtin.Tools()})
	check(err)
	defer func() { check(home.Close(ctx)) }()

	tools := []parley.ToolRef{{Name: "current_time"}}
	chat, err := home.Open(ctx, engine.SessionInput{Settings: parley.Settings{Model: "sim/tool", Tools: &tools}})
	check(err)
	run, err := chat.DryRun(
		ctx,
		"What time is it?",
		parley.ScriptedResult{Name: "current_time", Result: json.RawMessage(`"noon"`)},
	)
	check(err)
	for _, message := range run.Messages {
		fmt.Println(message.Sequence, message.Role)
	}
	for range chat.Messages(ctx) {
		fmt.Println("something was written")
	}
	// Output:
	// 1 user
	// 2 assistant
	// 3 tool_call
	// 4 tool_result
	// 5 assistant
}
