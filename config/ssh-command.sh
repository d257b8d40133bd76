#!/bin/sh
# Lets people who have only ssh sign in to the pages and get a token; everything else is git's.
# In authorized_keys, one line for each key, with the user's name:
#   command="/opt/commit-status/config/ssh-command.sh alice",restrict ssh-ed25519 AAAA... alice
# In gitolite: see config/pages.md.
user=$1

# sudo passes no environment on: without the settings of the service this would be another store.
commit_status() {
  exec sudo -n -u commit-status /opt/commit-status/scripts/commit-status --config /etc/commit-status/settings.json "$@"
}

case ${SSH_ORIGINAL_COMMAND:-} in
  sign-in) commit_status sign-in "$user" ;;
  token) commit_status token create "$user" --name ssh --expires 90d ;;
  *) exec git-shell -c "${SSH_ORIGINAL_COMMAND:-}" ;;
esac
