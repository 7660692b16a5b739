-- By time, for those who watch. Only attempts that were not their job's last have a row.

CREATE INDEX attempts_ended ON attempts (ended_at);
