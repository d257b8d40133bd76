#!/bin/sh
# Lets people who have only ssh sign in to the pages and get a token; everything else is git's.
# In authorized_keys, one line for each key, with the user's name:
#   command="/opt/commit-status/config/ssh-command.sh alice",restrict ssh-ed25519 AAAA... alice
# With git-shell as the login shell, and in gitolite: see config/pages.md.
user=$1

# sudo passes no environment on: without the settings of the service this would be another store.
commit_status() {
  exec sudo -n -u commit-status /opt/commit-status/scripts/commit-status --config /etc/commit-status/settings.json "$@"
}

case ${SSH_ORIGINAL_COMMAND:-} in
  sign-in) commit_status sign-in "$user" ;;
  token) commit_status token create "$user" --name ssh --expires 90d ;;
  '')
    printf 'hello %s\n\n' "$user"
    printf '  %-8s  %s\n' sign-in 'prints a link that signs you in to the pages' token 'prints a new token, for 90 days'
    printf '\nEverything else is for git: there is no shell here.\n'
    exit ;;
esac

# This may be one of the commands of git-shell, which would start it again without an end.
if [ -n "${COMMIT_STATUS_SSH:-}" ]; then
  echo 'this is no command' >&2
  exit 1
fi
export COMMIT_STATUS_SSH=1
# For hooks: who pushes.
export REMOTE_USER="$user"
exec git-shell -c "$SSH_ORIGINAL_COMMAND"
