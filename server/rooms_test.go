package server

import (
	"net/http"

	"waybill/server/api/company"
	"waybill/server/api/partner"
	"waybill/server/reach/provider"
)

// What the tests of this folder see of a server beside what it exports.

func (s *Server) Routes() map[string]http.HandlerFunc { return s.routes() }

func (s *Server) PartnerRoom() *partner.Seller      { return s.partner }
func (s *Server) CompanyRoom() *company.Portal      { return s.company }
func (s *Server) ProviderRoom() *provider.Confirmer { return s.provider }
