package conversation_test

import (
	"context"
	"fmt"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
)

// say posts a text and waits for the answer.
func say(ctx context.Context, chat *conversation.Conversation, text string) parley.Message {
	turn, err := chat.Say(ctx, text)
	check(err)
	_, err = turn.All(ctx)
	check(err)
	return turn.Message
}

// show prints a conversation.
func show(ctx context.Context, chat *conversation.Conversation) {
	for message, err := range chat.Messages(ctx) {
		check(err)
		text, _ := parley.PlainText(message.Content)
		fmt.Println(message.Sequence, message.Role, text)
	}
}

// A fork shares the history and continues separately.
func ExampleConversation_Fork() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	say(ctx, chat, "Let us begin.")
	fork, err := chat.Fork(ctx, parley.ID{})
	check(err)
	say(ctx, chat, "Left.")
	say(ctx, fork, "Right.")
	show(ctx, fork)
	// Output:
	// 1 user Let us begin.
	// 2 assistant Let us begin.
	// 3 user Right.
	// 4 assistant Right.
}

// A message is rephrased; the original stays.
func ExampleConversation_Rephrase() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	asked := say(ctx, chat, "Helo")
	branch, turn, err := chat.Rephrase(ctx, asked.ID, "Hello")
	check(err)
	answer, err := turn.All(ctx)
	check(err)
	fmt.Println(answer)
	show(ctx, branch)
	show(ctx, chat)
	// Output:
	// Hello
	// 1 user Hello
	// 2 assistant Hello
	// 1 user Helo
	// 2 assistant Helo
}

// An answer is generated again.
func ExampleConversation_Regenerate() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	asked := say(ctx, chat, "Again?")
	_, turn, err := chat.Regenerate(ctx, asked.ID)
	check(err)
	answer, err := turn.All(ctx)
	check(err)
	fmt.Println(answer)
	// Output: Again?
}

// A message is added that needs no answer yet.
func ExampleConversation_Add() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	_, err = chat.Add(ctx, "For later: the door is blue.")
	check(err)
	say(ctx, chat, "Which colour?")
	show(ctx, chat)
	// Output:
	// 1 user For later: the door is blue.
	// 2 user Which colour?
	// 3 assistant Which colour?
}

// A conversation continues with another model.
func ExampleConversation_SetModel() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	check(chat.SetModel(ctx, "sim/tool"))
	model, err := chat.Capabilities(ctx)
	check(err)
	fmt.Println(model.ID, model.Tools, model.Simulator)
	// Output: sim/tool true true
}

// What is known about the model that answers next.
func ExampleConversation_Capabilities() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	model, err := chat.Capabilities(ctx)
	check(err)
	fmt.Println(model.ID, model.Known)
	// Output: sim/echo true
}

// An answer as it streams.
func ExampleConversation_StreamText() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	for piece, err := range chat.StreamText(ctx, "One piece after the other.") {
		check(err)
		fmt.Print(piece)
	}
	// Output: One piece after the other.
}

// The record, oldest first.
func ExampleConversation_Messages() {
	ctx := context.Background()
	home, end := start(ctx)
	defer end()
	chat, err := home.Open(ctx, engine.SessionInput{})
	check(err)
	say(ctx, chat, "Note this.")
	show(ctx, chat)
	// Output:
	// 1 user Note this.
	// 2 assistant Note this.
}
