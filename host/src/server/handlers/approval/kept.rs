//! The use of what is kept of decisions: in a file, so in a thread that serves nobody.

use super::{Attempt, deed};
use crate::approvals::{ApprovalError, Approvals, Deed, Standing, Wanted};
use crate::plugin::Fault;
use crate::server::bounds::WaitDeadline;
use crate::server::handlers::rounds::ResumedInput;
use crate::server::refusal::Refusal;
use crate::server::seal::EXPIRY;
use crate::server::unapproved::Unapproved;

impl Attempt<'_> {
    /// The call as it is bound, and what was decided on it.
    pub(super) async fn standing(&self, wanted: Wanted) -> Result<(Deed, Standing), Refusal> {
        let (entry, arguments) = (self.entry.clone(), self.arguments.clone());
        let identity = self.scope.identity.clone();
        self.with_approvals(move |approvals| {
            let deed = deed::deed(&identity, &entry, &arguments);
            let standing = approvals.take(&deed, wanted)?;
            Ok((deed, standing))
        })
        .await
    }

    /// Whether a state was not used before.
    pub(super) async fn spend(&self, resumed: &ResumedInput) -> Result<bool, Refusal> {
        let state = resumed.state.clone().unwrap_or_default();
        let principal = self.scope.identity.name().clone();
        self.with_approvals(move |approvals| approvals.spend(&state, &principal, EXPIRY)).await
    }

    /// Uses the approvals, in a thread of their own: they are in a file.
    pub(super) async fn with_approvals<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Approvals) -> Result<T, ApprovalError> + Send + 'static,
    ) -> Result<T, Refusal> {
        // No client can fill the queue alone.
        let bounds = &self.scope.client.bounds;
        let _permit = bounds.acquire(self.entry.provider.id(), &mut WaitDeadline::default()).await?;
        let _turn = self.server.deciding.acquire().await.map_err(|_| Fault::Host)?;
        let approvals = self.server.settings.approvals.clone();
        match tokio::task::spawn_blocking(move || work(&approvals)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(ApprovalError::Full)) => Err(Unapproved::TooMany.into()),
            Ok(Err(ApprovalError::Io(error))) => {
                if let Some(left_out) = self.server.unusable_approvals.due() {
                    let place = &self.server.settings.approvals;
                    tracing::error!("failed to use the approvals: {error}: {place}{left_out}");
                }
                Err(Unapproved::Unusable.into())
            }
            Err(_) => Err(Fault::Host.into()),
        }
    }
}
