package main

import (
	"context"
	"fmt"
	"os/exec"

	"example.org/parley"
	"example.org/parley/client"
)

// askTools asks the running server which tools and tool servers cannot be used.
func askTools(ctx context.Context, shared *flags, env func(string) string) []finding {
	server, err := shared.connect(env)
	if err != nil {
		return []finding{{"tools", "problem", err.Error(), ""}}
	}
	defer server.Close()
	var findings []finding
	usable := 0
	for query := (client.ToolsQuery{}); ; {
		page, err := server.Tools(ctx, query)
		if parley.ErrorCode(err) == parley.CodeUnauthenticated || parley.ErrorCode(err) == parley.CodeForbidden {
			return nil // the finding about the server says so
		}
		if err != nil {
			return append(findings, finding{
				"tools", "problem", "the server cannot be asked: " + err.Error(), "see the server's log",
			})
		}
		for i := range page.Data {
			t := &page.Data[i]
			if t.Unusable == nil {
				usable++
				continue
			}
			f := finding{Check: "tools", State: "note", Says: t.Name + ": " + toolTrouble(t), Do: parley.ValueOf(t.Do)}
			if len(t.Agents) > 0 {
				f.State = "problem"
			}
			findings = append(findings, f)
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	return append([]finding{{Check: "tools", State: "ok", Says: fmt.Sprintf("agents can use %d", usable)}}, findings...)
}

// checkPrograms looks for the programs that parley.yaml names, while no server runs.
func checkPrograms(s settings) (findings []finding) {
	look := func(check, name, command string) {
		if command == "" {
			return
		}
		if _, err := exec.LookPath(command); err != nil {
			findings = append(findings, finding{check, "problem",
				name + ": the program " + command + " cannot be run: " + err.Error(),
				"install it, or correct its command in parley.yaml"})
		}
	}
	for _, given := range s.MCP {
		look("MCP server", given.Name, given.Command)
	}
	for _, given := range s.Runtimes {
		look("runtime", given.Name, given.Command)
	}
	return findings
}
