package mcp

// ToolName is what tests know names by.
func ToolName(server, tool string) string { return toolName(server, tool) }
