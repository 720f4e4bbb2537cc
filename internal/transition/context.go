package transition

import (
	"slices"
	"sort"

	"example.org/parley"
)

// PairRole returns the role of a message's counterpart: a result for a call, a call for a result; "" for others.
func PairRole(role parley.Role) parley.Role {
	switch role {
	case parley.RoleToolCall:
		return parley.RoleToolResult
	case parley.RoleToolResult:
		return parley.RoleToolCall
	}
	return ""
}

// Ordered sorts messages by sequence and removes duplicates.
func Ordered(messages []parley.Message) []parley.Message {
	sort.Slice(messages, func(i, j int) bool { return messages[i].Sequence < messages[j].Sequence })
	return slices.CompactFunc(messages, func(a, b parley.Message) bool { return a.ID == b.ID })
}
