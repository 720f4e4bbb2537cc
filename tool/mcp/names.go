package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// nameJoint stands between the server's name and the tool's.
	nameJoint = "__"
	// maxToolName is the longest name that every provider takes.
	maxToolName = 64
	// nameMark is the length of the hash that tells changed names apart.
	nameMark = 8
)

// toolName is what a server's tool is called here: server__tool. A name that
// providers do not take is changed, each unfit character to _, cut to its room,
// and marked with a hash of what it was. So a name depends on its own tool alone:
// what other tools a server has never changes it, and no two tools share one.
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

// serverOf is the server's part of a tool's name.
func serverOf(tool string) string {
	server, _, _ := strings.Cut(tool, nameJoint)
	return server
}
