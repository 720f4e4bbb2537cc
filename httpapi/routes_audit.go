package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// auditRoutes returns the routes that show who did what, and verify the store.
func auditRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/audit"},
			name:   "listAudit",
			tag:    "audit",
			verb:   engine.ReadAudit,
			says:   "List the audit",
			about: "Who did what, newest first, about a second behind. Every request that reads or writes is " +
				"recorded, except lists of models and tools; content never is. For admins.",
			query: with(
				paging(),
				many(id("session", "Only entries about this session, even when it is deleted.")),
				many(id("principal", "Only entries of this principal.")),
				flag(
					"changes",
					"true leaves out requests that only read, watch, or report which session a window has open.",
				),
			),
			serve:   serveAudit,
			answers: listed[parley.AuditEntry](auditExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/audit/anchor"},
			name:   "getAnchor",
			tag:    "audit",
			verb:   engine.ReadAudit,
			says:   "Read the end of the audit's chain",
			about: "The number and hash of the latest link, over all workspaces. Kept elsewhere, it shows later " +
				"whether the chain up to there is still the same. For admins.",
			serve:   serveAnchor,
			answers: found[parley.Anchor]("The latest link; number 0 while there is none.", anchorExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/verify"},
			name:   "verify",
			tag:    "audit",
			verb:   engine.ReadAudit,
			local:  true,
			says:   "Verify the store, step by step",
			about: "Takes the next small step through the database's pages, every record, the files, and the audit " +
				"with its chain. Send the answer's next as place, until done. For the machine's own user, by the " +
				"local token; parley verify uses it.",
			input: inputOf[verifyInput](
				`{"place":""}`,
			),
			serve:   serveVerify,
			answers: found[parley.VerifyStep]("What the step found, and where the next one begins.", verifyExample),
		},
	}
}
