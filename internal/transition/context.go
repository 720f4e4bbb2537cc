package transition

import (
	"cmp"
	"slices"

	"example.org/parley"
)

// PairRole is the role of what belongs to a message of a role: a call's result, a
// result's call; "" for others.
func PairRole(role parley.Role) parley.Role {
	switch role {
	case parley.RoleToolCall:
		return parley.RoleToolResult
	case parley.RoleToolResult:
		return parley.RoleToolCall
	}
	return ""
}

// Ordered sorts messages by sequence, each once.
func Ordered(messages []parley.Message) []parley.Message {
	slices.SortFunc(messages, func(a, b parley.Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return slices.CompactFunc(messages, func(a, b parley.Message) bool { return a.ID == b.ID })
}
