package conversation_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool/team"
	"example.org/parley/worker"
)

// A lead and its subordinate work by themselves, and brief the owner.
func ExampleHome_team() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	kept, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	defer func() { check(kept.Close()) }()
	home, err := conversation.Start(ctx, conversation.Options{
		Store: kept, Models: models(), Worker: worker.Options{Background: team.Tools(kept)},
	})
	check(err)
	defer func() { check(home.Close(ctx)) }()

	prompt := "You plan the work in a garden. Hand each question to everybody in your team."
	lead, _, err := home.Engine.CreateAgent(ctx, home.Owner, engine.AgentInput{
		Name: "Planner", Settings: parley.Settings{Model: "sim/team", SystemPrompt: &prompt},
	}, store.Idempotency{})
	check(err)
	_, _, err = home.Engine.CreateAgent(ctx, home.Owner, engine.AgentInput{
		Name: "Gardener", LeadID: lead.Slug, Settings: parley.Settings{Model: "sim/team"},
	}, store.Idempotency{})
	check(err)
	_, err = home.Engine.GiveTask(ctx, home.Owner, lead.Slug, engine.TaskInput{
		Text: "What shall we plant in May?",
	}, store.Idempotency{})
	check(err)
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for range look.C {
		inbox, err := home.Engine.Inbox(ctx, home.Owner, engine.InboxList{Unread: true})
		check(err)
		if len(inbox.Data) > 0 {
			fmt.Println(inbox.Data[0].Type, "of", lead.Name+":", inbox.Data[0].Title)
			break
		}
	}
	// Output: briefing of Planner: What shall we plant in May?
}
