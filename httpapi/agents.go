package httpapi

import (
	"net/http"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
)

func serveCreateAgent(a *api, x *exchange) error {
	var input engine.AgentInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	idempotency, err := x.idempotency("")
	if err != nil {
		return err
	}
	agent, _, err := a.engine.CreateAgent(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/agents/"+agent.ID.String())
	return sendJSON(x, http.StatusCreated, agent)
}

func serveListAgents(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.AgentList{
		Paging: args.paging(),
		Status: engine.AgentFilter(args.text("status")),
		Tags:   words[string](args, "tag"),
		Owners: words[string](args, "owner"),
	}
	if args.err != nil {
		return args.err
	}
	agents, err := a.engine.Agents(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, agents)
}

func serveAgent(a *api, x *exchange) error {
	agent, err := a.engine.Agent(x.r.Context(), x.principal, x.r.PathValue("agent"))
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, agent)
}

func serveAgentVersions(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	versions, err := a.engine.AgentVersions(x.r.Context(), x.principal, x.r.PathValue("agent"), paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, versions)
}

func serveAgentVersion(a *api, x *exchange) error {
	version, err := strconv.Atoi(x.r.PathValue("version"))
	if err != nil || version < 1 {
		return parley.Errorf(parley.CodeNotFound, "This version does not exist: versions are numbered from 1.")
	}
	agent, err := a.engine.AgentVersion(x.r.Context(), x.principal, x.r.PathValue("agent"), version)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, agent)
}

func serveUpdateAgent(a *api, x *exchange) error {
	var patch engine.AgentPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	patch.If = ifMatch(x, func(current parley.Agent) ([]byte, error) { return parley.EncodeJSON(current) })
	agent, err := a.engine.UpdateAgent(x.r.Context(), x.principal, x.r.PathValue("agent"), patch)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, agent)
}

func serveWarmAgent(a *api, x *exchange) error {
	warmed, err := a.engine.WarmAgent(x.r.Context(), x.principal, x.r.PathValue("agent"))
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, warmed)
}

func serveArchiveAgent(a *api, x *exchange) error {
	args := x.arguments()
	cascade := args.flag("cascade")
	if args.err != nil {
		return args.err
	}
	agent := x.r.PathValue("agent")
	var err error
	if cascade != nil && *cascade {
		err = a.engine.ArchiveTeam(x.r.Context(), x.principal, agent)
	} else {
		_, err = a.engine.ArchiveAgent(x.r.Context(), x.principal, agent)
	}
	if err != nil {
		return err
	}
	return x.sendNothing()
}
