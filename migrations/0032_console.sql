-- Lists of real-person authorization sessions, newest first: of all users for operators, and of one user.
create index authorization_sessions_newest on authorization_sessions (created_at desc, id desc);
create index authorization_sessions_of_user on authorization_sessions (user_id, created_at desc, id desc);

-- Histograms of roll-ups as one number each: the count of bucket n stands at the decimal digits 12n to 12n + 11. The sum of such numbers
-- is the histogram of all their calls, so that charts add them with sum() instead of taking thousands of arrays apart.
create function packed_histogram(counts int[]) returns numeric language sql immutable as $$
  select coalesce(sum(n * ('1' || repeat('0', 12 * (i::int - 1)))::numeric), 0) from unnest(counts) with ordinality h (n, i)
$$;
alter table request_hours
  alter column first_byte type numeric using packed_histogram(first_byte),
  alter column total type numeric using packed_histogram(total),
  alter column added type numeric using packed_histogram(added),
  alter column failover type numeric using packed_histogram(failover);
drop function packed_histogram(int[]);
drop function histogram_of(int[], int);
