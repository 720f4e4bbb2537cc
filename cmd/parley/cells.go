package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/model"
)

// This file makes the cells of tables that are more than a member of their row.

func agentModel(a *parley.Agent) string {
	if a.Model == "" {
		return "(default)"
	}
	return string(a.Model)
}

func agentVersion(a *parley.Agent) string { return "v" + strconv.Itoa(a.Version) }

func messageText(m *parley.Message) string {
	return parley.Clip(strings.ReplaceAll(body(*m), "\n", " "), maxLine)
}

// forkedThrough is the last sequence that a fork shares with its parent.
func forkedThrough(s *parley.Session) string {
	if s.ForkedThrough == nil {
		return "-"
	}
	return strconv.FormatInt(*s.ForkedThrough, 10)
}

func versionSpan(v *parley.Version) string { return fmt.Sprintf("%d-%d", v.Offset, v.End) }

func versionText(v *parley.Version) string {
	return parley.Clip(strings.ReplaceAll(v.Text, "\n", " "), maxCell)
}

// messageWay says how a queued message reaches the agent.
func messageWay(m *parley.Message) string {
	if m.Steer {
		return "steer"
	}
	return "queue"
}

// maxLine bounds what a table shows of a text, in bytes.
const maxLine = 80

// turnWhy says why a turn waits, or has failed.
func turnWhy(t *parley.Turn) string {
	if t.Error != nil {
		return t.Error.Sentence
	}
	return string(t.WaitReason)
}

func callModel(c *parley.Call) string { return modelLabel(c.Model) }

// callStep is a call's step, or its purpose if no turn made it.
func callStep(c *parley.Call) string {
	if c.Purpose != "" {
		return string(c.Purpose)
	}
	return strconv.Itoa(c.Step)
}

func loopIteration(l *parley.Loop) string {
	return strconv.Itoa(l.Iteration) + "/" + strconv.Itoa(l.Max)
}

func loopUntil(l *parley.Loop) string {
	if l.Until == nil {
		return "max"
	}
	raw, err := json.Marshal(l.Until)
	if err != nil {
		return "?" // cannot happen: it is JSON from the server
	}
	return clipped(raw)
}

func loopPrompt(l *parley.Loop) string { return parley.Clip(parley.TitleFrom(l.Prompt), maxCell) }

func modelContext(m *model.Info) string { return countOr(m.ContextLength) }

func modelAnswer(m *model.Info) string { return countOr(m.MaxOutput) }

func modelPrice(m *model.Info) string {
	if m.Price == nil {
		return "unknown"
	}
	return fmt.Sprintf("%g / %g", m.Price.Input, m.Price.Output)
}

// countOr is a number of tokens; 0 means that it is unknown.
func countOr(tokens int) string {
	if tokens == 0 {
		return "unknown"
	}
	return strconv.Itoa(tokens)
}

func providerState(p *model.ProviderInfo) string {
	switch {
	case p.Simulator:
		return "built in, makes its answers up"
	case !p.Configured:
		return "set " + p.KeyEnv
	}
	return "configured"
}

// toolEffect says in a word what a tool does to the world.
func toolEffect(t *client.ToolInfo) string {
	switch {
	case t.Unusable != nil:
		return "unusable"
	case t.Annotations.ReadOnly:
		return "reads"
	case t.Annotations.Destructive:
		return "changes, may destroy"
	}
	return "changes"
}

// toolSummary is the first line of a tool's description, or why agents cannot use it and what to do.
func toolSummary(t *client.ToolInfo) string {
	if t.Unusable != nil {
		return toolTrouble(t) + ". " + parley.ValueOf(t.Do)
	}
	first, _, _ := strings.Cut(t.Description, "\n")
	return parley.Clip(first, maxLine)
}

// toolTrouble says why agents cannot use a tool, and which of them name it.
func toolTrouble(t *client.ToolInfo) string {
	if len(t.Agents) == 0 {
		return *t.Unusable
	}
	return *t.Unusable + "; named by " + strings.Join(t.Agents, ", ")
}

func keyPrefix(k *parley.Key) string { return k.Prefix + "…" }

func keyState(k *parley.Key) string {
	if k.RevokedAt != 0 {
		return "revoked " + k.RevokedAt.String()
	}
	return "active"
}
