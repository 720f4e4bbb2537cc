package conversation

import (
	"context"

	"example.org/parley"
	"example.org/parley/engine"
)

// DryRun answers a text as a post would, but writes nothing. No tool runs: script provides their results, and a tool
// without one is reported as not run. DryRun returns when the turn has ended.
func (c *Conversation) DryRun(
	ctx context.Context,
	text string,
	script ...parley.ScriptedResult,
) (engine.DryRun, error) {
	input, err := userInput(text)
	if err != nil {
		return engine.DryRun{}, err
	}
	input.DryRun, input.ToolResults = true, script
	return c.home.Engine.DryRunMessage(ctx, c.home.Owner, c.ID, input, engine.DryWatch{})
}

// Preview returns what would be sent for a text now; it writes nothing and asks no model.
func (c *Conversation) Preview(ctx context.Context, text string) (engine.Preview, error) {
	input, err := userInput(text)
	if err != nil {
		return engine.Preview{}, err
	}
	return c.home.Engine.Preview(ctx, c.home.Owner, c.ID, engine.PreviewInput{MessageInput: input})
}

// Context returns what the model's window contains now.
func (c *Conversation) Context(ctx context.Context) (engine.Preview, error) {
	return c.home.Engine.Context(ctx, c.home.Owner, c.ID)
}

func userInput(text string) (engine.MessageInput, error) {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	return engine.MessageInput{Role: parley.RoleUser, Content: content}, err
}
