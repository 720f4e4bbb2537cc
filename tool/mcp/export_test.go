package mcp

// ToolName exposes toolName to tests.
func ToolName(server, tool string) string { return toolName(server, tool) }
