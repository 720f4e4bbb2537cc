package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
)

// This file holds the cells of tables that are more than a member of their row.

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

// callStep is the step of a call, or what it was for when it is not a turn's.
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
		return "?" // it is JSON from the server
	}
	return clipped(raw)
}

func loopPrompt(l *parley.Loop) string { return parley.Clip(parley.TitleFrom(l.Prompt), maxCell) }

func keyPrefix(k *parley.Key) string { return k.Prefix + "…" }

func keyState(k *parley.Key) string {
	if k.RevokedAt != 0 {
		return "revoked " + k.RevokedAt.String()
	}
	return "active"
}
