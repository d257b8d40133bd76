module commit-status/client-go

go 1.25.0

require gitlab.com/gitlab-org/api/client-go/v2 v2.64.0

require (
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	golang.org/x/oauth2 v0.36.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

require commit-status/calls v0.0.0

replace commit-status/calls => ../calls
