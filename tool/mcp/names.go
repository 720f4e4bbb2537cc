package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// nameJoint joins the server's name and the tool's.
	nameJoint = "__"
	// maxToolName is the longest name that every provider accepts.
	maxToolName = 64
	// nameMark is the length of the hash that distinguishes changed names.
	nameMark = 8
)

// toolName returns the name of a server's tool here: server__tool. A name that providers do not accept is changed: each
// unfit character becomes _, the name is cut to its room, and marked with a hash of the original. So a name depends
// only on its own tool: a server's other tools never change it, and no two tools share one.
func toolName(server, tool string) string {
	whole := server + nameJoint + tool
	fit := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, whole)
	if fit == whole && tool != "" && len(fit) <= maxToolName {
		return fit
	}
	sum := sha256.Sum256([]byte(whole))
	return fit[:min(len(fit), maxToolName-nameMark-1)] + "_" + hex.EncodeToString(sum[:])[:nameMark]
}

// serverOf returns the server's part of a tool's name.
func serverOf(tool string) string {
	server, _, _ := strings.Cut(tool, nameJoint)
	return server
}
