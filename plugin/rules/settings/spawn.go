package settings

import "sort"

// Allowed reports whether the agent own may spawn sessions of every configured agent,
// and returns the ids of the other agents that it may spawn, sorted (S5.2, S6). Ids that
// are allowed but not configured are left out. The operator may spawn all (S0.3).
func (s *Settings) Allowed(own string, operator bool) (any bool, ids []string) {
	var names []string
	if a := s.Find(own); a != nil {
		names = a.AllowAgents
	}
	any = operator || contains(names, "*")
	for i := range s.Agents {
		if id := s.Agents[i].ID; id != own && (any || contains(names, id)) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	return any, ids
}

// ChildModel returns the model of a child under an agent when the spawn call names no
// model, and the name of the setting that specifies it; "" leaves the model to the agent.
func (s *Settings) ChildModel(agentID string) (model, setting string) {
	a := s.Find(agentID)
	if a == nil {
		a = &ConfiguredAgent{}
	}
	switch {
	case a.childModel != "":
		return a.childModel, "subagents.model of agent " + agentID
	case s.Children.model != "":
		return s.Children.model, "agents.defaults.subagents.model"
	case a.model != "":
		return a.model, "the model of agent " + agentID
	}
	return s.model, "agents.defaults.model"
}

// AllowsModel reports whether models.allow permits a model.
func (s *Settings) AllowsModel(model string) bool {
	return s.Models == nil || contains(s.Models, model)
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
