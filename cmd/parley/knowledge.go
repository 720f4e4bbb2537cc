package main

import (
	"example.org/parley"
)

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
