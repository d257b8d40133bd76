module commit-status/go-github

go 1.25.0

require github.com/google/go-github/v89 v89.0.0

require github.com/google/go-querystring v1.2.0 // indirect

require commit-status/calls v0.0.0

replace commit-status/calls => ../calls
