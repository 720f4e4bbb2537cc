package engine

import (
	"encoding/json"
	"testing"

	"example.org/parley"
)

// BenchmarkNewMessage measures a post before it reaches the store, a part of every turn's processor time.
func BenchmarkNewMessage(b *testing.B) {
	e := New(Options{})
	input := MessageInput{
		Role:    parley.RoleUser,
		Content: json.RawMessage(`{"text":"What is the weather like in Lisbon today, and what should I wear?"}`),
	}
	principal := parley.Principal{
		ID:          parley.NewID(),
		WorkspaceID: parley.NewID(),
		Name:        "local",
		Kind:        parley.AuthorPerson,
		Role:        parley.RoleAdmin,
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.newMessage(principal, input); err != nil {
			b.Fatal(err)
		}
	}
}
