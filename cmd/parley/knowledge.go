package main

import (
	"github.com/spf13/cobra"

	"example.org/parley"
)

func knowledgeCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "knowledge", Short: "See and change what agents know"}
	command.AddCommand(
		knowledgeListCommand(shared, term),
		knowledgeShowCommand(shared, term),
		knowledgeCreateCommand(shared, term),
		knowledgeUpdateCommand(shared, term),
		knowledgePinCommand(shared, term),
		knowledgeApproveCommand(shared, term),
		knowledgeForgetCommand(shared),
	)
	return command
}

// knowledgeState says whether prompts are told an item.
func knowledgeState(k *parley.KnowledgeItem) string {
	switch {
	case k.Status == parley.KnowledgeActive && !k.Usable():
		return "to approve"
	case k.Status == parley.KnowledgeActive && k.Pinned:
		return "pinned"
	}
	return string(k.Status)
}

// knowledgeText returns the first line of an item's text.
func knowledgeText(k *parley.KnowledgeItem) string { return parley.TitleFrom(k.Text) }

// knowledgeSource names the message that an item was drawn from first.
func knowledgeSource(k *parley.KnowledgeItem) string {
	if len(k.Sources) == 0 {
		return "-"
	}
	return k.Sources[0].MessageID.String()
}
